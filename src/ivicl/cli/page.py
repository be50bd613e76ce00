"""`ivicl app`: the page in a browser on this machine. The browser computes everything; this only serves files."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from ivicl.errors import InputError

SHIPPED = "ivicl.onnx"
"""The name under which the page asks for the model."""

HEADERS = {
    # With these two headers the browser lets the page use threads.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Content-Security-Policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".wasm": "application/wasm",
}
NOT_BUILT = (
    "the page is not in this installation; build it from the repository with Node.js: "
    "cd web && npm ci && npm run build, or give the folder of a built page with --page."
)


class _Files(SimpleHTTPRequestHandler):
    """Serves the files of the page, with their types and headers; the model file is the package's own."""

    def translate_path(self, path: str) -> str:
        found = super().translate_path(path)
        if Path(found).name == SHIPPED and not Path(found).exists():
            return str(resources.files("ivicl") / "weights" / SHIPPED)
        return found

    def guess_type(self, path: str | os.PathLike[str]) -> str:
        return TYPES.get(Path(path).suffix, "application/octet-stream")

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: who looks at the page is nobody's business."""


def page_folder(given: Path | None) -> Path:
    """Where the built page is: the folder given, or else in the repository or, in a release, inside the package."""
    package = Path(str(resources.files("ivicl")))
    candidates = [given] if given is not None else [package.parent.parent / "web" / "dist", package / "page"]
    for folder in candidates:
        if (folder / "index.html").is_file():
            return folder
    if given is not None:
        raise InputError(f"there is no built page in '{given}': it has no index.html.")
    raise InputError(NOT_BUILT)


def server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of that folder on the loopback interface, at a free port unless one is asked for."""
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Files, directory=str(folder)))
    except OSError as error:
        raise InputError(f"port {port} cannot be used: {error.strerror}.") from error


def open_page(
    page: Annotated[Path | None, typer.Option("--page", help="Folder of a built page.", show_default=False)] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in a browser.")] = True,
) -> None:
    """Open the page: bounds in the browser from eight counts or a file, which never leave this machine."""
    import webbrowser

    with server(page_folder(page), port) as serving:
        address = f"http://127.0.0.1:{serving.server_address[1]}/"
        typer.echo(f"The page is at {address} until you stop this command (Ctrl+C).", err=True)
        if browser:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            serving.serve_forever()


def register(app: typer.Typer) -> None:
    app.command("app", epilog="Example: ivicl app")(open_page)
