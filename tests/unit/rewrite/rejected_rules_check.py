#!/usr/bin/python3
"""Rules that the compiler must reject, each with what it must say. A rule it must accept comes first,
so that a broken set-up does not pass for a rejection."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ACCEPTED = [
    "rule((x + c0) + c1, x + (c0 + c1))",
    "rule(i % c0, i).when(vmin(i) >= 0 && vmax(i) < c0)",
    "rule(op<Op::kSink>(x, rest), Keep)",
]
REJECTED = [
    # ** one spelling **
    ("rule(c0 + x, x)", "constants go on the right"),
    ("rule((2 * x) + y, x)", "constants go on the right"),
    ("rule(where(p, c0 + x, y), x)", "constants go on the right"),
    ("rule(op<Op::kSink>(every(1 + x)), Keep)", "constants go on the right"),
    ("rule(any_of<Op::kAdd, Op::kSub>(c0, x), x)", "constants go on the right"),
    # ** letters that nothing binds **
    ("rule(x + 0, y)", "the right side uses a letter that the left side does not bind"),
    ("rule(x + c0, x + (c0 + c1))", "the right side uses a letter"),
    ("rule(op<Op::kSink>(every(x + 1)), x)", "the right side uses a letter"),
    ("rule(x + 0, x).when(c0 != 0)", "the condition uses a letter"),
    ("rule(x + c0, x).when(c0 != 0 && vmin(i) > 0)", "the condition uses a letter"),
    # ** a root to dispatch on **
    ("rule(x, y)", "a rule must match an operation, not a bare letter"),
    ("rule(named(x, y), y)", "a rule must match an operation, not a bare letter"),
    # ** sources **
    ("rule(op<Op::kNeg>(x, y), x)", "more sources than the op takes"),
    ("rule(op<Op::kWhere>(x, y), x)", "fewer sources than the op takes"),
    ("rule(op<Op::kStack>(rest, x), x)", "stand for all remaining sources"),
    # ** right sides that can't be built **
    ("rule(op<Op::kNeg>(x), op<Op::kUnstack>(x))", "a function must build what has an argument"),
    ("rule(op<Op::kNeg>(x), cast(x) < cast(x))", "no dtype for these operands"),
    ("rule(op<Op::kNeg>(named(z, x + 1)), y)", "the right side uses a letter"),
    ("rule(max(named(x, x + y), z), z)", "the name is used inside"),
]

PROGRAM = """
namespace kiln::rewrite {
using namespace alphabet;
[[maybe_unused]] Ref Keep(Graph&, const Match& match) { return match.root(); }
constexpr auto kRules = rules(RULE);
extern constexpr RuleTable kTable = MakeTable<kRules, Domain::kAny>("table");
}
"""


class Compiler:
    """Checks rules one at a time, the header of the engine being compiled once."""

    def __init__(self, command, folder):
        self.command = [command, "-std=c++20", "-I."]
        self.header = pathlib.Path(folder) / "engine.h"
        self.header.write_text('#include "core/rewrite/driver.h"\n')
        compiled = str(self.header) + ".gch"
        subprocess.run([*self.command, "-x", "c++-header", str(self.header), "-o", compiled], check=True)

    def check(self, rule):
        """Whether the compiler accepts it, and what it says."""
        command = [*self.command, "-include", str(self.header), "-fsyntax-only", "-x", "c++", "-"]
        program = PROGRAM.replace("RULE", rule)
        result = subprocess.run(command, input=program, text=True, capture_output=True)
        return result.returncode == 0, result.stderr


def failures_with(compiler):
    failures = []
    accepted, output = compiler.check(", ".join(ACCEPTED))
    if not accepted:
        failures.append(f"rejects rules that are right:\n{output}")
    for rule, message in REJECTED:
        accepted, output = compiler.check(rule)
        if accepted:
            failures.append(f"accepts {rule}")
        elif message not in output:
            failures.append(f'rejects {rule}, but does not say "{message}":\n{output}')
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    with tempfile.TemporaryDirectory() as folder:
        failures = failures_with(Compiler(parser.parse_args().compiler, folder))
    print("\n".join(failures) or f"{len(REJECTED)} rules rejected as they must be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
