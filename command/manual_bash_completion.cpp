// Completion for bash: a table of the program's options, and functions that are the same for all programs.
#include <algorithm>

#include "command/manual.hpp"

namespace framewire {

namespace {

constexpr std::string_view functions = R"bash(
# The words before the cursor, `words`, and the one that it stands in, `current`, as they were typed: bash has split them
# at = and : in COMP_WORDS. Of `current` it replaces only what comes behind `kept`.
_framewire_words() {
  local rest=$COMP_LINE word i is_apart start
  words=() current='' kept=''
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]} is_apart=
    while [[ $rest == [[:blank:]]* ]]; do rest=${rest:1} is_apart=1; done
    start=$((${#COMP_LINE} - ${#rest}))
    rest=${rest:${#word}}
    if ((i < COMP_CWORD)); then
      if ((i > 0)) && [[ -z $is_apart ]]; then words[-1]+=$word; else words+=("$word"); fi
      continue
    fi
    ((start > COMP_POINT)) && start=$COMP_POINT
    word=${word:0:COMP_POINT-start}
    if ((i > 0)) && [[ -z $is_apart ]]; then
      kept=${words[-1]}
      unset 'words[-1]'
    fi
    current=$kept$word
    [[ $word && $word != *[!:=]* ]] && kept=$current
  done
}

# Hosts that begin with $1, as ssh knows them.
_framewire_hosts() {
  if declare -F _known_hosts_real >/dev/null; then
    _known_hosts_real -a -- "$1"
    return
  fi
  local hosts=() names name key line
  while read -r key line; do
    [[ ${key,,} == host ]] && read -ra names <<<"$line" && hosts+=("${names[@]}")
  done < <(cat ~/.ssh/config 2>/dev/null)
  while read -r line key; do
    [[ $line == [#@]* ]] || { IFS=, read -ra names <<<"$line" && hosts+=("${names[@]}"); }
  done < <(cat ~/.ssh/known_hosts 2>/dev/null)
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -A hostname -- "$1")
  for name in "${hosts[@]}"; do
    # No patterns, no hashes, none with a port of ssh.
    [[ $name == *["*?!%|["]* || $name != "$1"* ]] || COMPREPLY+=("$name")
  done
}

# What $1 says that begins with $2: words, and @file, @host, @command; with a comma before it a list.
_framewire_values() {
  local kind=$1 value=$2 before='' part has_words=
  if [[ $kind == ,* ]]; then
    [[ $value == *,* ]] && before=${value%,*},
    kind=${kind#,} value=${value##*,}
  fi
  local kinds
  read -ra kinds <<<"$kind"
  for part in "${kinds[@]}"; do
    case $part in
      @file) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$value") ;;
      @host) _framewire_hosts "$value" ;;
      @command) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$value") ;;
      "$value"*) COMPREPLY+=("$before$part") has_words=1 ;;
    esac
  done
  # Quotes names, and puts a slash behind folders; words are no names.
  [[ $kind == *@file* && -z $has_words ]] && compopt -o filenames 2>/dev/null
}

_framewire_complete() {
  local words current kept word wants='' is_literal='' place=0 repeats='' i
  local flags=() positions=() subcommands=()
  local -A takes=()
  COMPREPLY=()
  _framewire_words
  local program=${words[0]##*/}
  if [[ $program == framewire ]] && ((${#words[@]} > 1)); then
    program=framewire-${words[1]}
    words=("${words[@]:1}")
    if ! declare -F "_framewire_of_${program//-/_}" >/dev/null && [[ $program == framewire-+([a-z]) ]]; then
      # shellcheck source=/dev/null
      . "$_framewire_folder/$program" 2>/dev/null
    fi
  fi
  declare -F "_framewire_of_${program//-/_}" >/dev/null || return
  "_framewire_of_${program//-/_}"

  for word in "${words[@]:1}"; do
    if [[ $wants ]]; then wants=
    elif [[ $is_literal || $word != -?* ]]; then ((place++))
    elif [[ $word == -- ]]; then is_literal=1
    elif [[ ${takes[$word]+is} ]]; then wants=$word
    fi
  done
  local kind='' value=$current
  if [[ $wants ]]; then
    kind=${takes[$wants]}
  elif [[ -z $is_literal && $current == --*=* ]]; then
    word=${current%%=*} value=${current#*=}
    kind=${takes[$word]}
  elif [[ -z $is_literal && $current == -* ]]; then
    kind="${flags[*]} ${!takes[*]}"
  elif ((${#subcommands[@]} > 0)); then
    kind=${subcommands[*]}
  else
    [[ $repeats ]] && ((place >= ${#positions[@]})) && place=$((${#positions[@]} - 1))
    ((place < ${#positions[@]})) && kind=${positions[place]}
  fi
  _framewire_values "$kind" "$value"
  for i in "${!COMPREPLY[@]}"; do
    word=${current%"$value"}${COMPREPLY[i]}
    COMPREPLY[i]=${word#"$kept"}
  done
}

)bash";

/// The argument of _framewire_values().
std::string kind(std::string_view value) {
  const ValueChoices takes = read_value(value);
  std::string text;
  const auto add = [&text](std::string_view word) { text += (text.empty() ? "" : " ") + std::string(word); };
  std::ranges::for_each(takes.words, add);
  if (takes.takes_files) {
    add("@file");
  }
  if (takes.takes_hosts) {
    add("@host");
  }
  if (takes.takes_commands) {
    add("@command");
  }
  return takes.is_list && !text.empty() ? "," + text : text;
}

void add_positions(const ManualOption& argument, std::string& positions) {
  const std::string& names = argument.names.front();
  const bool is_one = names.find(' ') == std::string::npos;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(' ', begin), names.size());
    positions += " '" + kind(is_one ? argument.value : names.substr(begin, end - begin)) + "'";
    begin = end + 1;
  }
}

/// `text` without its leading blank.
std::string trimmed(const std::string& text) {
  return text.empty() ? text : text.substr(1);
}

std::string table(const Manual& manual) {
  std::string flags;
  std::string takes;
  std::string positions;
  std::string subcommands;
  bool repeats = false;
  for (const ManualOption& option : manual.options) {
    for (const std::string& name : option.names) {
      (option.value.empty() ? flags : takes) +=
          option.value.empty() ? ' ' + name : "\n    [" + name + "]='" + kind(option.value) + "'";
    }
  }
  for (const ManualOption& argument : manual.arguments) {
    add_positions(argument, positions);
    repeats = repeats || argument.repeats;
  }
  for (const ManualEntry& sub : manual.subcommands) {
    subcommands += ' ' + sub.term;
  }
  std::string name = manual.program;
  std::ranges::replace(name, '-', '_');
  return "_framewire_of_" + name + "() {\n  flags=(" + trimmed(flags) + ")\n  takes=(" + takes +
         (takes.empty() ? ")\n" : "\n  )\n") + "  positions=(" + trimmed(positions) +
         ")\n  repeats=" + (repeats ? "1" : "") + "\n  subcommands=(" + trimmed(subcommands) + ")\n}\n";
}

}  // namespace

std::string bash_completion(const Manual& manual) {
  std::string text = "# Completion of " + manual.program + " by bash, written by " + manual.program +
                     " --write-manual bash.\n# shellcheck shell=bash\n\n";
  // The folder with the completions of the subcommands.
  text += "_framewire_folder=${BASH_SOURCE[0]}\n[[ $_framewire_folder == */* ]] || _framewire_folder=./x\n";
  text += "_framewire_folder=${_framewire_folder%/*}\n\n";
  return text + table(manual) + std::string(functions) + "complete -F _framewire_complete " + manual.program + "\n";
}

}  // namespace framewire
