#!/usr/bin/env python3
"""Which places scripts/mutants changes in C++ code, how it changes them, and which it leaves alone."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def load(path: pathlib.Path):
    loader = importlib.machinery.SourceFileLoader(path.stem, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.stem, loader))
    sys.modules[path.stem] = module
    loader.exec_module(module)
    return module


sites = load(SCRIPTS / "mutants.d" / "sites.py")
mutants = load(SCRIPTS / "mutants")


def function(*lines: str) -> str:
    return "std::optional<int> f() {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def mutations(*lines: str) -> set[tuple[str, str]]:
    """Operator and mutated body, for all mutations of a function with these lines. An operator's own spaces go."""
    text = function(*lines)
    before, after = len("std::optional<int> f() {\n"), len("}\n")
    return {(site.operator, " ".join(site.apply(text, variant)[before:-after].split()))
            for site in sites.sites_in(text) for variant in site.variants}


class Sites(unittest.TestCase):
    def test_comparisons_move_by_one_and_turn_round(self):
        self.assertEqual(mutations("const bool less = a < b;"),
                         {("relational", "const bool less = a <= b;"), ("relational", "const bool less = a >= b;")})
        self.assertEqual(mutations("const bool same = a == b && c;"),
                         {("equality", "const bool same = a != b && c;"), ("and/or", "const bool same = a == b || c;")})

    def test_conditions_are_negated_with_their_texts(self):
        self.assertIn(("condition", 'if (!(type == "bye")) {'), mutations('if (type == "bye") {'))
        self.assertIn(("condition", "if (const auto x = g(); !(x > y)) {"),
                      mutations("if (const auto x = g(); x > y) {"))
        self.assertEqual(mutations("if (const auto x = g()) {"), set())

    def test_numbers_become_their_neighbours_and_zero(self):
        self.assertEqual({text for _, text in mutations("const int x = 7;")},
                         {"const int x = 8;", "const int x = 6;", "const int x = 0;"})
        self.assertEqual(mutations("const std::int64_t x = y1;"), set())

    def test_steps_turn_round_or_are_lost(self):
        self.assertEqual(mutations("++x;"), {("step", "--x;"), ("step", "x;")})

    def test_statements_locks_and_wakes_are_deleted(self):
        self.assertEqual(mutations("a.reset();"), {("statement deleted", ";")})
        self.assertEqual(mutations("*a = b;"), {("statement deleted", ";")})
        self.assertEqual(mutations("const std::scoped_lock lock(mutex_);"), {("lock deleted", ";")})
        self.assertEqual(mutations("changed_.notify_all();"), {("wake deleted", ";")})
        self.assertEqual(mutations("send_waiting(*queue, wakes);"), {("statement deleted", ";")})

    def test_declarations_stay(self):
        self.assertEqual(mutations("const auto x = f();", "int y;", "Thing(const Thing&) = delete;"), set())

    def test_a_deleted_statement_keeps_its_lines(self):
        text = function("send(a,", "     b);", "next();")
        for site in sites.sites_in(text):
            self.assertEqual(site.apply(text, "").count("\n"), text.count("\n"))

    def test_results_change_to_another_of_their_kind(self):
        self.assertEqual(mutations("return true;"), {("return", "return false;")})
        self.assertIn(("return", "if (x) return State::lost; return State::lost;"),
                      mutations("if (x) return State::lost;", "return State::open;"))
        self.assertEqual(mutations("return State::open;"), set())
        self.assertEqual(mutations("return found;"), {("return", "return std::nullopt;")})
        self.assertEqual(mutations("return std::nullopt;"), set())

    def test_jumps_swap(self):
        self.assertEqual(mutations("break;"), {("jump", "continue;")})

    def test_words_for_people_stay(self):
        for line in ("// if (a < b) { ++c; }", "#include <a/b1.hpp>", "assert(a < b && c == 1);", 'log->info("a" + b);',
                     'throw Error::failed("a is " + std::to_string(a + 1));', 'const auto x = "a" + b + "c < d";',
                     "const F f = g() noexcept(a == b);"):
            self.assertEqual(mutations(line), set(), line)
        text = "std::string describe(int a) {\n  if (a > b) {\n    return {};\n  }\n}\n"
        self.assertEqual(sites.sites_in(text), [])


class Choice(unittest.TestCase):
    def test_is_in_proportion_to_the_places(self):
        self.assertEqual(mutants.shares({"a": 60, "b": 30, "c": 10}, 10), {"a": 6, "b": 3, "c": 1})
        self.assertEqual(sum(mutants.shares({"a": 7, "b": 5, "c": 1}, 5).values()), 5)
        self.assertEqual(mutants.shares({"a": 1, "b": 2}, 100), {"a": 1, "b": 2})

    def test_repeats_with_its_seed(self):
        text = function("a.reset();", "b.reset();", "c = 7;", "if (a < b) {", "++c;", "}")
        self.assertEqual(mutants.mutants_of("x.cpp", text, 1), mutants.mutants_of("x.cpp", text, 1))
        self.assertNotEqual(mutants.mutants_of("x.cpp", text, 1), mutants.mutants_of("x.cpp", text, 2))

    def test_names_say_where(self):
        mutant = mutants.mutants_of("x.cpp", function("a.reset();"), 1)[0]
        self.assertEqual(mutant.name, "x.cpp:2:3: statement deleted: deleted")


if __name__ == "__main__":
    unittest.main()
