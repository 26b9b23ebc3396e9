#include "bench/reverse_protocol.hpp"

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/bench_protocol.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

using nlohmann::json;

namespace {

constexpr std::int64_t answer_timeout_ns = 10 * ns_per_s;
constexpr std::uint64_t max_rate_per_s = 1'000'000;
constexpr std::uint64_t longest_row_ns = std::uint64_t{86'400} * ns_per_s;

std::string operation_field(const json& message) {
  std::string operation = text_field(message, "operation");
  if (operation != "stream" && operation != "latency") {
    throw wrong_field(message, "operation", "stream or latency");
  }
  return operation;
}

void require_possible(const RowPlan& plan) {
  if (plan.count == 0 && plan.duration_ns == 0) {
    throw Error::failed("a row that neither 'count' nor 'duration_ns' ends was asked for; give one of them");
  }
  require_bench_memory(plan.message_bytes, plan.slots);  // the pool has room for four more
}

}  // namespace

json reverse_message(const RowPlan& plan) {
  return {{"type", reverse_type},
          {"operation", plan.operation},
          {"message_bytes", plan.message_bytes},
          {"count", plan.count},
          {"duration_ns", static_cast<std::uint64_t>(plan.duration_ns)},
          {"slots", plan.slots},
          {"rate_per_s", static_cast<std::uint64_t>(plan.rate_per_s)},
          {"wait", name(plan.wait)},
          {"touch", plan.touches_payload}};
}

RowPlan read_reverse_message(const json& message) {
  expect(message, reverse_type);
  RowPlan plan;
  plan.operation = operation_field(message);
  plan.message_bytes = number_field(message, "message_bytes", 1, max_bench_message_bytes);
  plan.count = number_field(message, "count", 0, UINT64_MAX);
  plan.duration_ns = static_cast<std::int64_t>(number_field(message, "duration_ns", 0, longest_row_ns));
  plan.slots = static_cast<std::uint32_t>(number_field(message, "slots", 1, max_bench_slots));
  plan.rate_per_s = static_cast<double>(number_field(message, "rate_per_s", 0, max_rate_per_s));
  plan.wait = wait_field(message);
  plan.touches_payload = flag_field(message, "touch");
  plan.is_reverse = true;
  require_possible(plan);
  return plan;
}

json reverse_answer() {
  return {{"type", "sending"}};
}

void request_reverse_row(MessageChannel& channel, const RowPlan& plan) {
  channel.send(reverse_message(plan));
  const json answer = channel.receive(monotonic_ns() + answer_timeout_ns);
  if (message_type(answer) == "refused") {
    // One that knows the message says 'fault' where it will not.
    throw Error::refused("the bench server at " + channel.peer() +
                         " is of an older release, which only receives; update it, or leave --reverse out");
  }
  expect(answer, "sending");
}

}  // namespace framewire
