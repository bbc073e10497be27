"""C files that are hard on a reader, in any size: `C_FILES[name](count)` is the text with `count` of what is hard.

The suite asks for dozens; `python -m tests.hostile_sizes 10000` inspects each in full size and prints what it took.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable

INCLUDES = "#include <linux/kernel.h>\n#include <linux/uaccess.h>\n\n"
FUNCTION = (
    INCLUDES
    + """\
int hostile(int __user *p, int x)
{
	if (!user_write_access_begin(p, 4))
		return -EFAULT;
	%s
	unsafe_put_user(x, p, Efault);
	user_write_access_end();
	return 0;
Efault:
	user_write_access_end();
	return -EFAULT;
}
"""
)


def body(text: str) -> str:
    """A function with the text inside its block."""
    return FUNCTION.replace("%s", text)


def before(text: str, inside: str = "") -> str:
    """The text in front of the function."""
    return INCLUDES + text + "\n" + body(inside).removeprefix(INCLUDES)


def _each(count: int, text: str) -> str:
    return "".join(text.replace("%d", str(at)).replace("%n", str(at + 1)) for at in range(count))


C_FILES: dict[str, Callable[[int], str]] = {
    "nested parentheses": lambda n: body(f"x = {'(' * n}1{')' * n};"),
    "open parentheses": lambda n: body("x = " + "(" * n * 20),
    "nested calls": lambda n: body(f"x = {'foo(' * n}1{')' * n};"),
    "nested braces": lambda n: body("{\n" * n + "}\n" * n),
    "open braces": lambda n: body("{\n" * n),
    "nested ifs": lambda n: body("if (x)\n" * n + ";"),
    "a chain of else if": lambda n: body("if (x == 1)\n;\nelse " * n + ";"),
    "nested #if in a function": lambda n: body("\n" + _each(n, "#if A%d\n") + "x++;\n" + "#endif\n" * n),
    "nested #if around a function": lambda n: _each(n, "#if A%d\n") + body("") + "#endif\n" * n,
    "a chain of #elif": lambda n: body("\n#if A\n" + _each(n, "#elif B%d\nx += %d;\n") + "#endif\n"),
    "many #ifdef": lambda n: body("\n" + _each(n, "#ifdef A%d\nx += %d;\n#endif\n")),
    "#ifdef never closed": lambda n: body("\n" + "#ifdef A\n" * n),
    "a condition in parentheses": lambda n: body(f"\n#if {'!(' * n}A{')' * n}\nx++;\n#endif\n"),
    "labels and gotos": lambda n: body(_each(n // 2, "L%d: if (x == %d) goto L%n;\n") + f"L{n // 2}: ;"),
    "cases": lambda n: body("switch (x) {\n" + _each(n, "case %d: x = foo(%d); break;\n") + "}"),
    "nested loops": lambda n: body(
        _each(n // 50 + 9, "while (x < %d) {\nif (x == %d) break;\n") + "}\n" * (n // 50 + 9)
    ),
    "conditions one after the other": lambda n: body(_each(n // 4, "if (x == %d) x = foo(%d);\n")),
    "a chain of &&": lambda n: body("if (" + _each(n, "foo(%d) && ") + "1) x++;"),
    "a sum": lambda n: body("x = " + "1 + " * n + "1;"),
    "nested ?:": lambda n: body("x = " + "x ? 1 : " * n + "0;"),
    "unary operators": lambda n: body("x = " + "!" * n + "x;"),
    "casts": lambda n: body("x = " + "(int)" * n + "x;"),
    "assignments": lambda n: body("x = " * n + "1;"),
    "results that nobody reads": lambda n: body(_each(n // 2, "int v%d; v%d = foo(%d);\n")),
    "a long function": lambda n: body("x = foo(x);\n" * (n * 8)),
    "comments never closed": lambda n: body("/*" * n * 20),
    "comments that overlap": lambda n: body("/*/" * n * 20),
    "quotes": lambda n: body('"' * (n * 20 + 1)),
    "escaped quotes": lambda n: body('\\"' * n * 10),
    "quotes on continued lines": lambda n: body('"' + "\\\n" * n * 10),
    "apostrophes on continued lines": lambda n: body("'\\\n" * n * 10),
    "backslashes in a comment": lambda n: body("//" + "\\" * n * 20),
    "blanks": lambda n: body(" " * n * 30),
    "blank lines": lambda n: body("\n" * n * 30),
    "blanks before an argument list": lambda n: body("x = foo" + " " * n * 30 + "(1);"),
    "blanks behind a type": lambda n: body("foo(const" + " " * n * 10 + "x);"),
    "commas": lambda n: body("foo(" + "," * n * 10 + ");"),
    "case without end": lambda n: body("case " * n * 6),
    "case ranges without end": lambda n: body("case ... " * n * 4),
    "types as arguments": lambda n: body("foo(" + "const " * n * 6 + ");"),
    "a long word": lambda n: body("a" * n * 30),
    "typeof never closed": lambda n: body("typeof(" * n * 3),
    "asm never closed": lambda n: body("asm(" * n * 5),
    "attributes never closed": lambda n: body("__attribute__(" * n * 2),
    "statement expressions": lambda n: body("x = " + "({ " * n + "x; " + "}); " * n),
    "do while": lambda n: body("do {\n" * n + "x++;\n" + "} while (0);\n" * n),
    "struct words": lambda n: before("struct " + "__a " * n * 2 + ";"),
    "an open struct head": lambda n: before("struct " + "__a" * n * 2 + " x {"),
    "attributes of a head": lambda n: before("static " + "__attribute__((x)) " * n + "int y;"),
    "groups of a head": lambda n: before("A(1) " * n * 4),
    "paragraphs of a head": lambda n: before("A(1)\n\n" * n * 4),
    "open paragraphs of a head": lambda n: before("A(\n\n" * n * 4),
    "semicolons": lambda n: before(";" * n * 20),
    "primitives outside functions": lambda n: before("user_access_begin\n" * n * 6),
    "primitives in macros": lambda n: before(_each(n, "#define m%d user_access_begin(p, %d)\n")),
    "macros in macros": lambda n: before(_each(n, "#define m%d(a) m%n(a)\n") + f"#define m{n}(a) foo(a)", "m0(x);"),
    "macros that double": lambda n: before(
        _each(min(n, 40), "#define m%d(a) m%n(a); m%n(a)\n") + f"#define m{min(n, 40)}(a) foo(a)", "m0(x);"
    ),
    "arguments that double": lambda n: before(
        _each(min(n, 40), "#define m%d(a) m%n(a + a)\n") + f"#define m{min(n, 40)}(a) foo(a)", "m0(x);"
    ),
    "a macro in itself": lambda n: before("#define m(a) m(m(a))", "m(x);"),
    "macros in one another": lambda n: before("#define m(a) k(a)\n#define k(a) m(a)", "m(x);"),
    "a long macro": lambda n: before("#define m(a) \\\n" + "foo(a); \\\n" * n * 2, "m(x);"),
    "definitions of one macro": lambda n: before(_each(n // 4, "#define foo(a) bar%d(a)\n"), "foo(x);"),
    "prototypes": lambda n: before("int foo(int);\n" * n * 2, "foo(x);"),
    "a chain of functions": lambda n: before(
        _each(n // 5, "static inline int c%d(int a)\n{\n\treturn c%n(a);\n}\n"), "c0(x);"
    ),
    "typedefs of typedefs": lambda n: before(_each(n, "typedef t%n t%d;\n"), "__copy_from_user(&x, p, sizeof(t0));"),
    "structures in structures": lambda n: before(
        "struct s { " * n + "int a;" + "} b;" * n, "__copy_from_user(&x, p, sizeof(struct s));"
    ),
    "a structure in itself": lambda n: before(
        "struct s { struct s a; };", "__copy_from_user(&x, p, sizeof(struct s));"
    ),
    "a size of many digits": lambda n: body(f"__copy_from_user(&x, p, {'9' * n * 80});"),
    "a shift of many digits": lambda n: body(f"__copy_from_user(&x, p, 1 << {'9' * n * 80});"),
    "sizeof of sizeof": lambda n: body(f"__copy_from_user(&x, p, {'sizeof(' * n}x{')' * n});"),
    "an include of itself": lambda n: '#include "hostile.c"\n' * n + body("foo(x);"),
    "NUL bytes": lambda n: body("x = foo(\0\0\0x);\0"),
    "every byte": lambda n: body("".join(map(chr, range(1, 256)))),
    "bidi and control characters": lambda n: body("x = fo\u202eo(x); /* \u2066\x1b[2J */"),
    "carriage returns": lambda n: body("foo(x);").replace("\n", "\r\n"),
    "one line": lambda n: body(" ".join(["foo(x);"] * n)),
}


def _measure(name: str, count: int) -> None:
    from reviewbot.rulebook.book import load_rulebook
    from reviewbot.rules.bounded import inspect_bounded
    from tests.expectations import small_tree
    from tests.trees import MemoryTree

    path = "arch/powerpc/kernel/hostile.c"
    data = C_FILES[name](count).encode()
    book = load_rulebook()
    began = time.process_time()
    seen = inspect_bounded(MemoryTree({**small_tree(), path: data}), [path], book)
    took_s = time.process_time() - began
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    reasons = "; ".join(sorted({gap.reason[:60] for gap in seen.gaps})[:2])
    print(f"{name:32} {len(data) >> 10:5} KiB {took_s:6.1f} s {memory_mb:5} MB  blocks {seen.blocks_seen}  {reasons}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for name in sys.argv[2:] or C_FILES:
        child = os.fork()
        if child == 0:
            _measure(name, count)
            sys.stdout.flush()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            print(f"{name}: broke")


if __name__ == "__main__":
    main()
