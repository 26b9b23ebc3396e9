// Completion for zsh: a function that calls _arguments, see zshcompsys(1).
#include <algorithm>

#include "command/manual.hpp"

namespace framewire {

namespace {

std::string escaped(std::string_view text, std::string_view letters) {
  std::string out;
  for (const char letter : text) {
    out += letters.find(letter) == std::string_view::npos ? "" : "\\";
    out += letter;
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char letter : text) {
    out += letter == '\'' ? "'\\''" : std::string(1, letter);
  }
  return out + "'";
}

std::string with_spaces(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

/// The action of an _arguments specification.
std::string action(std::string_view value) {
  const ValueChoices takes = read_value(value);
  const std::string words = escaped(with_spaces(takes.words), ":");
  std::string functions = takes.takes_files ? "_files" : "";
  functions += takes.takes_hosts ? (functions.empty() ? "_hosts" : "; _hosts") : "";
  functions += takes.takes_commands ? (functions.empty() ? "_command_names -e" : "; _command_names -e") : "";
  if (takes.is_list && !words.empty()) {
    return "_sequence compadd - " + words;
  }
  if (!words.empty() && !functions.empty()) {
    return "{compadd -- " + words + "; " + functions + "}";
  }
  return !words.empty() ? "(" + words + ")" : functions.empty() ? " " : functions;
}

/// "(--from)--listen=[text]:ADDR\:PORT: ".
std::string option_specification(const ManualOption& option) {
  const bool ends = option.names.back() == "--help" || option.names.back() == "--version";
  std::vector<std::string> without = option.names;
  without.insert(without.end(), option.excludes.begin(), option.excludes.end());
  const std::string exclusion = ends ? "(- *)" : "(" + with_spaces(without) + ")";
  std::string text;
  for (const std::string& name : option.names) {
    std::string one = exclusion + name;
    one += option.value.empty() ? "" : name.starts_with("--") ? "=" : "+";
    one += "[" + escaped(shown_text(option), "[]\\") + "]";
    one += option.value.empty() ? "" : ":" + escaped(shown_value(option), ":\\") + ":" + action(option.value);
    text += "  " + quoted(one) + " \\\n";
  }
  return text;
}

std::string argument_specifications(const ManualOption& argument, std::size_t& place) {
  std::string text;
  const std::string& names = argument.names.front();
  const bool is_one = names.find(' ') == std::string::npos;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(' ', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    const std::string where = argument.repeats ? "*:" : std::to_string(++place) + (argument.is_required ? ":" : "::");
    text += "  " + quoted(where + escaped(name, ":\\") + ":" + action(is_one ? argument.value : name)) + " \\\n";
    begin = end + 1;
  }
  return text;
}

/// The rest of the line belongs to the subcommand's program.
std::string subcommands_text(const Manual& manual) {
  std::string text = "  '1:SUBCOMMAND:->subcommand' \\\n  '*::ARGUMENT:->arguments' && result=0\n";
  text += "\ncase $state in\n  subcommand)\n    local -a subcommands=(\n";
  for (const ManualEntry& sub : manual.subcommands) {
    text += "      " + quoted(sub.term + ":" + sub.text) + "\n";
  }
  text += "    )\n    _describe -t commands SUBCOMMAND subcommands && result=0\n    ;;\n  arguments)\n";
  text += "    _call_function result _" + manual.program + "-$words[1] || { _files && result=0; }\n    ;;\nesac\n";
  return text + "return result\n";
}

}  // namespace

std::string zsh_completion(const Manual& manual) {
  std::string text = "#compdef " + manual.program + "\n# Written by " + manual.program + " --write-manual zsh.\n\n";
  const bool dispatches = !manual.subcommands.empty();
  text += dispatches ? "local curcontext=$curcontext state line result=1\n_arguments -C -S : \\\n"
                     : "_arguments -s -S : \\\n";
  for (const ManualOption& option : manual.options) {
    text += option_specification(option);
  }
  if (dispatches) {
    return text + subcommands_text(manual);
  }
  std::size_t place = 0;
  for (const ManualOption& argument : manual.arguments) {
    text += argument_specifications(argument, place);
  }
  text.resize(text.size() - 3);  // the last line has no continuation
  return text + '\n';
}

}  // namespace framewire
