"""What a new model changes in the pages is rewritten, and nothing else."""

from __future__ import annotations

from printed_blocks import printed_blocks, with_new_numbers, with_new_outputs

PAGE = """Text.

<!-- run: ivicl counts 1 2 3 4 5 6 7 8 -->
```text
Interval  [0.1000, 0.2000]
Median    0.1500
```

<!-- run: python examples/one.py -->
| a | b |
|---|---|
| x | 0.1 |

| another | table |
"""


def test_blocks_are_found_with_their_commands_and_places():
    text, table = printed_blocks(PAGE)
    assert text.command == "ivicl counts 1 2 3 4 5 6 7 8" and text.shown.startswith("Interval")
    assert table.shown == "| a | b |\n|---|---|\n| x | 0.1 |\n", "the table ends where it ends"
    assert PAGE[slice(*table.span)] == table.shown


def test_lines_that_were_left_out_stay_out():
    printed = "Head\nInterval  [-0.3000, 0.2000]\nMore      1.0\nMedian    0.25\n"
    (text, _) = printed_blocks(PAGE)
    assert with_new_numbers(text.shown, printed) == "Interval  [-0.3000, 0.2000]\nMedian    0.25\n"


def test_new_words_show_all_that_is_printed():
    assert with_new_numbers("Interval  0.1\n", "Limits  0.2\nMedian  0.3\n") == "Limits  0.2\nMedian  0.3\n"
    assert with_new_numbers("", "Limits  0.2\n") == "Limits  0.2\n", "a block that is still empty"
    assert with_new_numbers("| a | 0.1 |\n", "| b | 0.2 |\n\nNote.\n") == "| b | 0.2 |\n", "of a table the rows alone"


def test_outputs_of_examples_are_rewritten():
    first = "```pycon\n>>> x = 2\n>>> x\n1\n>>> for k in (x, 5):\n...     print(k)\n2\n4\n\n```\n"
    page = f"{first}\nAnd\n\n```pycon\n>>> x + 1\n3\n\n```\n"
    assert with_new_outputs(page, "page") == page.replace("\n1\n", "\n2\n").replace("\n4\n", "\n5\n")
