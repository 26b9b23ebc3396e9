// The input that a viewer sends back, and the queue that it waits in.
//
// Input: the text of one `input` message.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "input/events.hpp"
#include "input/input_queue.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace framewire::fuzz {
namespace {

using nlohmann::json;

void check_line(const InputBatch& batch, const InputEvent& event) {
  const std::string line = input_line(batch, event, "test");
  require(line.find('\n') == std::string::npos, "an event is one line");
  const json read = json::parse(line, nullptr, false);
  require(read.is_object() && read.contains("type") && read["viewer"] == batch.viewer, "a line is a JSON object");
}

/// A reader takes nothing until the end. The events come again and again, also with other epochs.
void check_queue(InputBatch batch) {
  InputQueue queue;
  std::uint64_t waiting = 0;
  for (std::uint64_t round = 0; round < 5; ++round) {
    batch.epoch += round % 2;
    queue.push(batch);
    require(queue.size() <= InputQueue::capacity, "a queue is bounded");
  }
  queue.release_all();
  waiting = queue.size();
  require(waiting <= InputQueue::capacity, "releases have room");
  while (const auto taken = queue.take()) {
    require(!taken->events.empty() && taken->events.size() <= max_input_events, "a batch has some events");
    require(succeeds([&] { static_cast<void>(read_input(to_json(*taken))); }), "what comes out could come again");
    waiting -= taken->events.size();
  }
  require(waiting == 0, "all that waits is taken");
  queue.release_all();
  require(queue.empty(), "what is released is not pressed");
}

void check(const json& message) {
  succeeds([&] {
    const InputBatch batch = read_input(message);
    require(batch.viewer.size() == 16 && batch.events.size() <= max_input_events, "a batch is bounded");
    InputBatch again;
    require(succeeds([&] { again = read_input(json::parse(to_json(batch).dump())); }),
            "what was read can be read again");
    require(again == batch, "a batch comes back as it went");
    for (const InputEvent& event : batch.events) {
      check_line(batch, event);
    }
    check_queue(batch);
  });
}

}  // namespace

std::vector<std::string> seeds() {
  const InputBatch all{.viewer = "0123456789abcdef",
                       .epoch = 7,
                       .events = {{1, FocusInput{true}},
                                  {2, SizeInput{.width = 1920, .height = 1080}},
                                  {3, KeyInput{.usage = 4, .keysym = 0x61, .is_pressed = true, .modifiers = 63}},
                                  {4, TextInput{"Ä€"}},
                                  {5, PointerInput{.x = -1.5, .y = 2160, .dx = 0.25, .dy = -3}},
                                  {6, PointerInput{.dx = 1e6, .is_locked = true}},
                                  {7, ButtonInput{.button = InputButton::forward, .is_pressed = true, .x = 1, .y = 2}},
                                  {8, WheelInput{.dx = 0.5, .dy = -1, .x = 3, .y = 4}},
                                  {9, GamepadInput{.number = 15, .axes = {-1, 1, 0.3F, 0, -1, 1}, .buttons = 0x7fff}},
                                  {10, KeyInput{.usage = 4}}}};
  json newer = to_json(all);
  newer["events"].push_back(json{{"type", "pen"}});
  std::vector<std::string> texts{to_json(all).dump(), newer.dump()};
  for (const InputEvent& event : all.events) {
    texts.push_back(to_json(InputBatch{.viewer = all.viewer, .epoch = 1, .events = {event, event}}).dump());
  }
  return texts;
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framewire;
  const auto message = nlohmann::json::parse(fuzz::Input(data, size).take_text(), nullptr, false);
  if (!message.is_discarded()) {
    fuzz::check(message);
  }
  return 0;
}
