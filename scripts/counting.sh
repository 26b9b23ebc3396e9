# Runs tests with ctest and counts the results, for scripts/test. Sourced after common.sh.
# shellcheck shell=bash

# Tests of real programs and of emulated machines depend on the machine's load. A failed one is run once more, alone. If
# it fails again, it counts as failed. If it passes, it is listed at the end as a fault to fix.
second_try_labels='^(e2e|rdma|rdma_tools|rdma_hosts|rdma_native)$'
gives_second_try=true
second_tries=()  # tests that passed at the second try
durations=()     # "SECONDS NAME" of every test that ran

# counts_of CTEST_LOG: prints "PASSED FAILED SKIPPED", or returns false if ctest did not finish. ctest counts skipped
# tests as passed, although they did not run.
counts_of() {
  local bad all skipped
  read -r bad all < <(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests* failed out of \([0-9]*\)$/\1 \2/p' "$1" |
    tail -n 1) || return 1
  skipped=$(grep -c '^ *[0-9]*/[0-9]* Test *#[0-9]*: .*\*\*\*Skipped *[0-9.]* sec$' "$1" || true)
  echo "$((all - bad - skipped)) $bad $skipped"
}

# failed_in CTEST_LOG: the names of the tests that failed, from ctest's list at the end.
failed_in() { sed -n '/^The following tests FAILED:$/,$s/^[[:space:]]*[0-9][0-9]* - \([^ ]*\) (.*/\1/p' "$1"; }

# passed_in CTEST_LOG: the names of the tests that passed.
passed_in() { sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* Passed *[0-9.]* sec$/\1/p' "$1"; }

# durations_in CTEST_LOG: "SECONDS NAME", a line for each test.
durations_in() { sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec$/\2 \1/p' "$1"; }

# show_failures CTEST_LOG: prints the output of failed tests, and ctest's final list of them.
show_failures() {
  awk '/Test +#[0-9]+: .*(Passed|Not Run)/ {shown = 0; next}
       /Test +#[0-9]+:/ {shown = 1}
       /^[0-9]+% tests passed/ {shown = 1}
       shown && ++lines <= 400' "$1"
}

# run_ctest FOLDER LOG OPTION…
run_ctest() {
  local folder=$1 log=$2
  shift 2
  ctest --test-dir "$folder" --output-on-failure --no-tests=error "$@" >"$log" 2>&1 || true
}

# count_ctest FOLDER LOG: sets good, bad and not_run from the log of run_ctest. Reruns failed tests that may have a
# second try. False if ctest did not finish.
count_ctest() {
  local folder=$1 log=$2 counts
  mapfile -t -O "${#durations[@]}" durations < <(durations_in "$log")
  counts=$(counts_of "$log") || return 1
  read -r good bad not_run <<<"$counts"
  ((bad == 0)) || show_failures "$log"
  ((bad == 0)) || ! $gives_second_try || try_again "$folder" "$log"
}

# try_again FOLDER LOG: reruns failed tests that may have a second try, one at a time, and corrects good and bad.
try_again() {
  local folder=$1 log=$2 second="$2.second" names passed_now
  names=$(failed_in "$log" | sed 's/[.[\*^$+?(){|]/\\&/g' | paste -s -d '|')
  ctest --test-dir "$folder" --output-on-failure --tests-regex "^($names)\$" --label-regex "$second_try_labels" \
    >"$second" 2>&1 || true
  mapfile -t passed_now < <(passed_in "$second")
  mapfile -t -O "${#durations[@]}" durations < <(durations_in "$second")
  second_tries+=("${passed_now[@]}")
  good=$((good + ${#passed_now[@]}))
  bad=$((bad - ${#passed_now[@]}))
  [ -z "$(failed_in "$second")" ] || { say "== failed at the second try, too"; show_failures "$second"; }
}

# say_second_tries: prints the tests that passed only at the second try, if any.
say_second_tries() { ((${#second_tries[@]} == 0)) || say "passed at the second try: ${second_tries[*]}"; }

# say_longest: prints the ten slowest tests. Each stage reads all of its input: with pipefail a stage that stops early
# would end scripts/test with SIGPIPE.
say_longest() {
  ((${#durations[@]} > 0)) || return 0
  say "took longest:"
  printf '%s\n' "${durations[@]}" | sort -rn | awk 'NR <= 10 {printf "%8.1f s  %s\n", $1, $2}'
}
