// The messages of the control channel, as either role reads them.
//
// Input: the text of one message.
#include "transport/session/messages.hpp"

#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/fuzz/fuzz.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/links.hpp"
#include "transport/rdma/dial.hpp"
#include "transport/rdma/dial_targets.hpp"
#include "transport/rdma/memory_access.hpp"
#include "transport/ring_limits.hpp"
#include "transport/session/input_messages.hpp"

namespace framewire::fuzz {
namespace {

using nlohmann::json;

/// What a reader accepts can be written, and read again as the same.
template <typename Read>
void check(const json& message, Read&& read) {
  succeeds([&] {
    const json once = to_json(read(message));
    json again;
    require(succeeds([&] { again = to_json(read(once)); }), "what was read and written can be read");
    require(again == once, "a message comes back as it went");
  });
}

void check_epoch(const json& message) {
  succeeds([&] {
    const EpochMessage epoch = read_epoch(message);
    require(epoch.format.sample_aspect_ratio.denominator != 0 && epoch.format.frame_rate.denominator != 0,
            "a fraction has a denominator");
    require(!validate_layout(epoch.format.layout, epoch.format.layout.size_bytes), "a format's layout is possible");
    require_printable(describe(epoch.format));
    require_printable(find_ring_fault(epoch.format, epoch.slot_bytes, epoch.ring_slots));
  });
}

/// What a link's own fields say is read by the link alone.
void check_description(const LinkDescription& description) {
  if (const auto ring = ring_access_from(description)) {
    const auto again = ring_access_from(describe(*ring));
    require(again && describe(*again) == describe(*ring), "a ring's access comes back as it went");
  }
  if (const auto pool = pool_access_from(description)) {
    const auto again = pool_access_from(describe(*pool));
    require(again && describe(*again) == describe(*pool), "a pool's access comes back as it went");
  }
  succeeds([&] {
    const RdmaListenerAddress listener = rdma_listener_from(description);
    require(listener.port != 0 && listener.addresses.size() <= max_rdma_addresses,
            "a listener has a port and few addresses");
  });
}

void check_refused_cadence(const json& message) {
  succeeds([&] {
    const std::string text = read_no_cadence(message);
    require_printable(text);
    require(!text.empty(), "a refusal says something");
  });
}

void check_no_input(const json& message) {
  succeeds([&] { require_printable(read_no_input(message)); });
  succeeds([&] { require_printable(read_no_message(message)); });
}

/// What the programs of both ends say to each other.
void check_program_message(const json& message, const std::string& text) {
  succeeds([&] {
    const std::string body = read_program_message(message);
    require(read_program_message(program_message(body)) == body, "a body comes back as it went");
  });
  const auto body = checked_body(text);
  if (body) {
    require(body->size() <= max_message_body_bytes && body->find('\n') == std::string::npos, "a body is one line");
    require(checked_body(*body) == body, "a body that was checked is one");
  }
  if (const auto line = read_message_line(text)) {
    require(body.has_value(), "a line has a body");
    const json read = json::parse(message_line(line->body, line->stream, 1), nullptr, false);
    require(read.is_object() && read["body"].dump() == line->body, "a body is written as it is");
  }
}

StreamFormat picture() {
  return {packed_layout(PixelFormat::p010le, 3840, 2160),
          {ColourMatrix::bt2020nc, ColourRange::limited, ColourTransfer::pq, ColourPrimaries::bt2020},
          {4, 3},
          {60000, 1001},
          AlphaMode::straight,
          ChromaLocation::topleft,
          FieldOrder::bb};
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string digits(64, 'a');
  const std::vector<json> messages = {
      to_json(HelloMessage{.role = "viewer", .program = "framewire-view 0.1.0"}),
      to_json(OfferMessage{.session = digits.substr(32),
                           .streams = {{"bars", 2, Delivery::every, "64x48 rgba", true, "1f"}},
                           .links = {LinkKind::local, LinkKind::rdma, LinkKind::tcp},
                           .unavailable_links = {{LinkKind::rdma, "it has no RDMA device"}},
                           .encrypt = true}),
      to_json(ChooseMessage{.stream = 2,
                            .link = LinkKind::rdma,
                            .token = digits,
                            .listener = R"({"addresses":["10.9.0.1"],"port":5290})",
                            .pulls = true,
                            .encrypt = true,
                            .why = "too little memory may be locked"}),
      to_json(ConnectMessage{.link = LinkKind::rdma, .token = digits, .listener = R"({"port":5290})"}),
      no_link("it has no RDMA device"),
      to_json(EpochMessage{5, picture(), 24883200, 3, R"({"pool":1})"}),
      to_json(EpochMessage{1, {.layout = bytes_layout(65536), .colour = {}}, 65536, 3}),
      to_json(ReadyMessage{5, 3, R"({"address":"0","keys":[1,2]})"}),
      to_json(ClockMessage{.viewer_ns = 1, .sender_ns = -1}),
      to_json(CadenceRequest{.period_ns = 16'683'333, .shift_ns = -3'000'000}),
      to_json(CadenceRequest{.period_ns = INT64_MIN, .shift_ns = INT64_MAX}),
      no_cadence("another viewer has asked"),
      no_cadence("\x1b[2J"),
      no_input("another viewer has the input"),
      no_input(""),
      no_message("it runs without --messages"),
      no_message(""),
      program_message(R"({"score":7})"),
      json{{"stream", "bars"}, {"body", {{"a", 1}}}},
      to_json(ByeMessage{"end", 3, 4, R"({"a":1})"}),
      refusal("no room")};
  std::vector<std::string> texts;
  for (const json& message : messages) {
    texts.push_back(message.dump());
  }
  texts.push_back(describe(RingAccess{.payload_address = 4096,
                                      .payload_key = 1,
                                      .cells_address = 8192,
                                      .cells_key = 2,
                                      .cells_per_slot = 16,
                                      .receive_depth = 4}));
  texts.push_back(describe(PoolAccess{
      .payload_address = 4096, .payload_key = 1, .directory_address = 8192, .directory_key = 2, .slots = 3}));
  texts.push_back(describe(RdmaListenerAddress{.port = 5290, .addresses = {"10.9.0.1", "2001:db8::1"}}));
  return texts;
}

}  // namespace framewire::fuzz

#ifdef FRAMEWIRE_LIBFUZZER

/// Puts another value into one place of the message. The fuzzer's own changes seldom leave JSON behind.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  using nlohmann::json;
  std::minstd_rand random(seed);
  json message = json::parse(data, data + size, nullptr, false);
  if (random() % 4 == 0 || !message.is_object() || message.empty()) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  json* place = &message;
  while (place->is_structured() && !place->empty() && (place == &message || random() % 8 != 0)) {
    auto element = place->begin();
    std::advance(element, random() % place->size());
    place = &*element;
  }
  const std::vector<json> values = {nullptr,
                                    true,
                                    0,
                                    1,
                                    -1,
                                    1.5,
                                    1e30,
                                    "",
                                    "\x1b[m",
                                    "\n",
                                    json::array(),
                                    json::object(),
                                    UINT32_MAX,
                                    std::uint64_t{1} << 32,
                                    INT64_MIN,
                                    UINT64_MAX,
                                    json::array({0, 0}),
                                    std::string(100, 'a')};
  const std::vector<json> numbers = {0, 1, -1, 255, UINT32_MAX};
  const auto& choice = place->is_number() && random() % 2 == 0 ? numbers : values;
  *place = choice.at(random() % choice.size());
  const std::string text = message.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::ranges::copy(text, data);
  return text.size();
}

#endif

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framewire;
  using fuzz::check;
  const std::string text(fuzz::Input(data, size).take_text());
  fuzz::check_description(text);
  int depth = 0;
  const nlohmann::json message = nlohmann::json::parse(
      text,
      [&](int at, nlohmann::json::parse_event_t, const nlohmann::json&) {
        depth = std::max(depth, at);
        return true;
      },
      false);
  if (message.is_discarded() || depth > message_depth_limit) {
    return 0;  // the channel refuses it
  }
  fuzz::succeeds([&] { message_type(message); });
  fuzz::succeeds([&] { expect_type(message, "offer"); });
  fuzz::succeeds([&] { throw_if_refused(message); });
  fuzz::succeeds([&] { throw_if_no_link(message); });
  fuzz::succeeds([&] { read_no_link(message); });
  check(message, read_hello);
  check(message, read_offer);
  check(message, read_choose);
  check(message, read_epoch);
  check(message, read_ready);
  check(message, read_clock);
  check(message, read_bye);
  check(message, read_cadence);
  fuzz::check_refused_cadence(message);
  fuzz::check_no_input(message);
  fuzz::check_program_message(message, text);
  for (const LinkKind link : links_best_first()) {
    check(message, [&](const nlohmann::json& read) { return read_connect(read, link); });
  }
  fuzz::check_epoch(message);
  return 0;
}
