#include "rdpipe/stage.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "ssh/ssh_command.hpp"

namespace framewire {

namespace {

constexpr std::string_view what_a_stage_is =
    "a stage is HOST:'command', :'command' for this machine, HOST:'<file', HOST:'>file' or HOST:'>>file'";
constexpr std::size_t longest_shown_text = 60;

Error no_stage(const std::string& word, std::string_view why) {
  return Error::usage(quote(word) + " is no stage, " + std::string(why) + "; " + std::string(what_a_stage_is));
}

/// The end of the host: the first colon outside brackets.
std::size_t find_colon(const std::string& word) {
  const std::size_t open = word.find('[');
  const std::size_t colon = word.find(':');
  if (open == std::string::npos || colon < open) {
    return colon;
  }
  const std::size_t close = word.find(']', open);
  return close == std::string::npos ? std::string::npos : word.find(':', close);
}

std::string read_host(const std::string& word, std::string host) {
  if (!host.empty() && !is_ssh_host(host)) {
    throw no_stage(word, quote(host) + " is no host");
  }
  return without_brackets(std::move(host));
}

/// Whether the name refers to a descriptor of the process that opens it: in a stage that is not the descriptor the user
/// means.
bool is_own_descriptor(const std::string& text) {
  constexpr std::array names = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  constexpr std::array folders = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
  const std::string file = std::filesystem::path(text).lexically_normal();
  return std::ranges::find(names, file) != names.end() ||
         std::ranges::any_of(folders, [&](const char* folder) { return file.starts_with(folder); });
}

std::string without_leading_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return std::string(begin == std::string_view::npos ? std::string_view() : text.substr(begin));
}

Stage parse_stage(const std::string& word) {
  const std::size_t colon = find_colon(word);
  if (colon == std::string::npos) {
    throw no_stage(word, "it has no colon");
  }
  Stage stage{.host = read_host(word, word.substr(0, colon))};
  const std::string text = without_leading_blanks(word.substr(colon + 1));
  if (text.starts_with('<')) {
    stage.work = StageWork::source;
    stage.text = without_leading_blanks(text.substr(1));
  } else if (text.starts_with('>')) {
    stage.work = StageWork::sink;
    stage.appends = text.starts_with(">>");
    stage.text = without_leading_blanks(text.substr(stage.appends ? 2 : 1));
  } else {
    stage.text = word.substr(colon + 1);  // keep a command's blanks
  }
  if (without_leading_blanks(stage.text).empty()) {
    throw no_stage(word, stage.work == StageWork::command ? "it has no command" : "it names no file");
  }
  if (stage.work != StageWork::command && is_own_descriptor(stage.text)) {
    throw no_stage(word, quote(stage.text) +
                             " is another thing in every process; rdpipe's own standard input and output are " +
                             "the ends of a pipeline that names no file there");
  }
  return stage;
}

}  // namespace

std::string without_brackets(std::string host) {
  std::erase_if(host, [](char letter) { return letter == '[' || letter == ']'; });
  return host;
}

std::vector<Stage> parse_stages(const std::vector<std::string>& words) {
  if (words.empty()) {
    throw Error::usage("no stage was given; " + std::string(what_a_stage_is));
  }
  std::vector<Stage> stages;
  std::ranges::transform(words, std::back_inserter(stages), parse_stage);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].work == StageWork::source && i > 0) {
      throw Error::usage(quote(words[i]) + " reads a file; only the first stage can");
    }
    if (stages[i].work == StageWork::sink && i + 1 < stages.size()) {
      throw Error::usage(quote(words[i]) +
                         " writes a file; only the last stage can (a command writes one and goes on: tee)");
    }
  }
  return stages;
}

std::string describe(const Stage& stage) {
  const std::string place = (stage.is_here() ? "here" : stage.host) + ": ";
  const std::string text = quote(stage.text, longest_shown_text);
  switch (stage.work) {
    case StageWork::command:
      return place + text;
    case StageWork::source:
      return place + "<" + text;
    case StageWork::sink:
      break;
  }
  return place + (stage.appends ? ">>" : ">") + text;
}

std::string describe(const Stage& stage, std::size_t number) {
  return "stage " + std::to_string(number) + " (" + describe(stage) + ")";
}

}  // namespace framewire
