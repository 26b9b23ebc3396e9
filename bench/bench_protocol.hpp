// What the messages between a bench server and a client that says hello as `bench` have in common. docs/wire.md lists
// them. Readers throw Error (failed) that names the field and what it takes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/adaptive_spin.hpp"
#include "base/error.hpp"
#include "bench/verbs/verbs_plan.hpp"

namespace framewire {

/// How such a client calls itself in its hello.
inline constexpr const char* bench_role = "bench";

/// What a client may ask for, of links and sockets as of the verbs.
inline constexpr std::uint64_t max_bench_message_bytes = max_verbs_message_bytes;
inline constexpr std::uint64_t max_bench_slots = max_verbs_slots;
inline constexpr std::uint64_t max_bench_memory_bytes = max_verbs_memory_bytes;
/// Throws Error (failed) where so many slots of such messages are more than that.
void require_bench_memory(std::uint64_t message_bytes, std::uint64_t slots);

Error wrong_field(const nlohmann::json& message, const std::string& field, const std::string& what_it_takes);
std::uint64_t number_field(const nlohmann::json& message, const std::string& field, std::uint64_t low,
                           std::uint64_t high);
std::string text_field(const nlohmann::json& message, const std::string& field);
bool flag_field(const nlohmann::json& message, const std::string& field);
WaitMode wait_field(const nlohmann::json& message);

/// Throws unless it is of that type. An unknown message of a newer peer is no fault anywhere else; here each has its
/// place.
void expect(const nlohmann::json& message, const std::string& type);

/// The server, instead of its next message: what went wrong there.
nlohmann::json fault_message(const std::string& text);
/// The server, last: its result, a JSON object as text. Then it hangs up.
nlohmann::json result_message(const std::string& result_json);
std::string read_result_message(const nlohmann::json& message);
/// Throws Error (failed) with the sentence of a fault, and Error (refused) with that of a refusal.
void throw_if_fault(const nlohmann::json& message);

}  // namespace framewire
