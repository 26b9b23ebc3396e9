// How --help, the manual page and completions show a command line with every kind of option.
#include "command/manual.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/error.hpp"

namespace framewire {
namespace {

/// Variables that CLI::App fills.
struct RawOptions {
  std::string key, mode, list, many;
  std::vector<std::string> names;
  bool loud = false, quiet = false;
};

void define(CLI::App& app, RawOptions& words) {
  app.add_option("HOST[:PORT] FILE", words.names, "whom, and what");
  app.add_option("--key", words.key, "it's ~ \\ ^ `x`")->type_name("FILE");
  app.add_option("--mode", words.mode, "how")->type_name("auto|WxH|ram-disk");
  app.add_option("--list", words.list, "which")->type_name("one|two,…");
  app.add_option("--many", words.many, "of many")->type_name("aaaaaaaa|bbbbbbbb|cccccccc|dddddddd|eeeeeeee|ffffffff");
  auto* loud = app.add_flag("-l,--loud", words.loud, "[all] of it")->group("Other");
  app.add_flag("--quiet", words.quiet, "\n.nothing")->excludes(loud);
  app.footer("\nExamples:\n  test-it --loud   what it does,\n                   and more\nExit status:\n  0  well\n");
}

Manual manual() {
  RawOptions words;
  CLI::App app("Tests it\nOne line\nand one more.\n\nSecond:\n  .term  text\n", "test it");
  app.set_help_flag("-h,--help", "help");
  define(app, words);
  return read_manual(app);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Manual, ReadsTextIntoParagraphsEntriesAndSections) {
  const Manual read = manual();
  EXPECT_EQ(read.program, "test-it");
  EXPECT_EQ(read.summary, "Tests it");
  ASSERT_EQ(read.description.entries.size(), 3U);
  EXPECT_EQ(read.description.entries[0].text, "One line and one more.");
  EXPECT_EQ(read.description.entries[1].text, "Second:");
  EXPECT_EQ(read.description.entries[2].term, ".term");
  ASSERT_EQ(read.sections.size(), 2U);
  EXPECT_EQ(read.sections[0].title, "Examples");
  EXPECT_EQ(read.sections[0].entries.at(0).term, "test-it --loud");
  EXPECT_EQ(read.sections[0].entries.at(0).text, "what it does, and more");
  EXPECT_EQ(read.sections[1].title, "Exit status");
}

TEST(Manual, KeepsGroupsTogether) {
  const Manual read = manual();
  EXPECT_EQ(read.options.back().group, "Other");
  EXPECT_EQ(read.options.back().names, (std::vector<std::string>{"-l", "--loud"}));
}

TEST(Manual, ReadsWhatAValueCanBe) {
  const ValueChoices mixed = read_value("auto|WxH|-|FILE.png|HOST[:PORT]");
  EXPECT_EQ(mixed.words, (std::vector<std::string>{"auto", "-"}));
  EXPECT_TRUE(mixed.takes_files);
  EXPECT_TRUE(mixed.takes_hosts);
  EXPECT_FALSE(mixed.is_list);
  EXPECT_TRUE(read_value("N,…").is_list);
  EXPECT_TRUE(read_value("N,…").words.empty());
  EXPECT_TRUE(read_value("COMMAND").takes_commands);
}

TEST(Manual, HelpShowsEverything) {
  const std::string help = help_text(manual());
  EXPECT_TRUE(help.starts_with("Usage: test-it [OPTION]... [HOST[:PORT]] [FILE]\n\nTests it.\n")) << help;
  for (const char* part :
       {"\n  --key FILE  ", "\n  --list one|two,…  ", "\n  --many NAME  ",
        "of many; NAME is one of aaaaaaaa, bbbbbbbb,", "\n\nOther:\n  -l, --loud  [all] of it (not with --quiet)\n",
        "(not with --loud)", "\n\nExit status:\n  0  well\n"}) {
    EXPECT_TRUE(has(help, part)) << part << "\n" << help;
  }
}

TEST(Manual, PageEscapesWhatRoffWouldTake) {
  const std::vector<std::string> programs{"test-it", "one", "other"};
  const std::string page = man_page(manual(), "2001-02-03", programs);
  for (const char* part :
       {".TH TEST\\-IT 1 2001-02-03 ", "it\\(aqs \\(ti \\e \\(ha \\(gax\\(ga\n", "\\fB\\-\\-list\\fR ", "two,\\[u2026]",
        "\n\\&.nothing", ".SS Other\n", ".SH EXIT STATUS\n"}) {
    EXPECT_TRUE(has(page, part)) << part << "\n" << page;
  }
  EXPECT_FALSE(has(page, "BR other"));
}

TEST(Manual, PageRefersToWhatItSpeaksOf) {
  Manual read = manual();
  read.description.entries.push_back({"", "See framewire key, not rdsend2."});
  const std::vector<std::string> programs{"framewire-key", "rdsend", "test-it"};
  const std::string page = man_page(read, "2001-02-03", programs);
  EXPECT_TRUE(page.ends_with(".SH SEE ALSO\n.BR framewire\\-key (1)\n")) << page;
}

TEST(Manual, CompletionsOfferValues) {
  const std::string bash = bash_completion(manual());
  for (const char* part :
       {"[--key]='@file'", "[--mode]='auto ram-disk'", "[--list]=',one two'", "positions=('@host' '@file')"}) {
    EXPECT_TRUE(has(bash, part)) << part << "\n" << bash;
  }
  const std::string zsh = zsh_completion(manual());
  for (const char* part : {"it'\\''s ~ \\\\ ^", ":FILE:_files'", "[\\[all\\] of it (not with --quiet)]'",
                           "(--quiet --loud)--quiet", "'1::HOST[\\:PORT]:_hosts'", ":_sequence compadd - one two'"}) {
    EXPECT_TRUE(has(zsh, part)) << part << "\n" << zsh;
  }
}

TEST(Manual, RefusesOtherFormats) {
  CLI::App app("x", "x");
  const std::vector<std::string> words{"html"};
  EXPECT_THROW(static_cast<void>(written_manual(app, words)), Error);
  EXPECT_THROW(static_cast<void>(written_manual(app, {})), Error);
}

}  // namespace
}  // namespace framewire
