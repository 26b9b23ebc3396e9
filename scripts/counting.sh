# Runs tests by ctest and counts what it says, for scripts/test; sourced behind common.sh.
# shellcheck shell=bash

# Tests of real programs and of emulated machines hang on what else the machine does: one that fails is tried once more, alone. What is
# wrong then is wrong; what is not is said at the end, and to be mended.
second_try_labels='^(e2e|rdma|rdma_tools|rdma_native)$'
gives_second_try=true
second_tries=()  # the names of those that passed then
durations=()     # "SECONDS NAME" of every test that ran

# counts_of CTEST_LOG: "PASSED FAILED SKIPPED"; nothing, and false, where ctest came to no end. What ctest calls skipped did not run at
# all, although it counts it as passed.
counts_of() {
  local bad all skipped
  read -r bad all < <(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests* failed out of \([0-9]*\)$/\1 \2/p' "$1" | tail -n 1) || return 1
  skipped=$(grep -c '^ *[0-9]*/[0-9]* Test *#[0-9]*: .*\*\*\*Skipped *[0-9.]* sec$' "$1" || true)
  echo "$((all - bad - skipped)) $bad $skipped"
}

# failed_in CTEST_LOG: the names of the tests that failed, from ctest's list at the end.
failed_in() { sed -n '/^The following tests FAILED:$/,$s/^[[:space:]]*[0-9][0-9]* - \([^ ]*\) (.*/\1/p' "$1"; }

# passed_in CTEST_LOG: the names of the tests that passed.
passed_in() { sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* Passed *[0-9.]* sec$/\1/p' "$1"; }

# durations_in CTEST_LOG: "SECONDS NAME", a line for each test.
durations_in() { sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec$/\2 \1/p' "$1"; }

# show_failures CTEST_LOG: the output of those that failed, and their list at the end.
show_failures() {
  awk '/Test +#[0-9]+: .*(Passed|Not Run)/ {shown = 0; next} /Test +#[0-9]+:/ {shown = 1} /^[0-9]+% tests passed/ {shown = 1} shown' "$1" |
    head -n 400
}

# run_ctest FOLDER LOG OPTION…: sets good, bad and not_run. False where ctest came to no end.
run_ctest() {
  local folder=$1 log=$2 counts
  shift 2
  ctest --test-dir "$folder" --output-on-failure --no-tests=error "$@" >"$log" 2>&1 || true
  mapfile -t -O "${#durations[@]}" durations < <(durations_in "$log")
  counts=$(counts_of "$log") || return 1
  read -r good bad not_run <<<"$counts"
  ((bad == 0)) || show_failures "$log"
  ((bad == 0)) || ! $gives_second_try || try_again "$folder" "$log"
}

# try_again FOLDER LOG: runs what failed there and may be tried again, one test at a time, and corrects good and bad.
try_again() {
  local folder=$1 log=$2 second="$2.second" names passed_now
  names=$(failed_in "$log" | sed 's/[.[\*^$+?(){|]/\\&/g' | paste -s -d '|')
  ctest --test-dir "$folder" --output-on-failure --tests-regex "^($names)\$" --label-regex "$second_try_labels" >"$second" 2>&1 || true
  mapfile -t passed_now < <(passed_in "$second")
  mapfile -t -O "${#durations[@]}" durations < <(durations_in "$second")
  second_tries+=("${passed_now[@]}")
  good=$((good + ${#passed_now[@]}))
  bad=$((bad - ${#passed_now[@]}))
  [ -z "$(failed_in "$second")" ] || { say "== failed at the second try, too"; show_failures "$second"; }
}

# say_second_tries: which tests passed at the second try alone; nothing where none did.
say_second_tries() { ((${#second_tries[@]} == 0)) || say "passed at the second try: ${second_tries[*]}"; }

# say_longest: what took longest, ten of them.
say_longest() {
  ((${#durations[@]} > 0)) || return 0
  say "took longest:"
  printf '%s\n' "${durations[@]}" | sort -rn | sed 10q | awk '{printf "%8.1f s  %s\n", $1, $2}'
}
