"""The methods that compute bounds: the `Method` object, the registry, and every method that ships."""

from __future__ import annotations

from ivicl.methods.base import Estimates, Method, MethodBounds, ModelInfo, Request

__all__ = ["Estimates", "Method", "MethodBounds", "ModelInfo", "Request"]
