#include "library/settings.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "library/failure.hpp"
#include "library/struct_size.hpp"
#include "transport/address.hpp"

namespace framewire {

namespace {

constexpr std::size_t most_options = 256;

/// The options that senders and receivers share.
constexpr std::string_view endpoint_names[] = {"listen",  "transport", "memory", "key",         "insecure",
                                               "encrypt", "timeout",   "tos",    "rdma-address"};

std::vector<std::string_view> endpoint_and(std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> names(std::begin(endpoint_names), std::end(endpoint_names));
  names.insert(names.end(), more);
  return names;
}

std::string all_of(const std::vector<std::string_view>& names) {
  std::string all;
  for (const std::string_view name : names) {
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  return all;
}

RawCommonOptions raw_options(const Settings& settings) {
  RawCommonOptions raw;
  raw.transport = settings.has("transport") ? settings.text("transport") : raw.transport;
  raw.memory = settings.has("memory") ? settings.text("memory") : raw.memory;
  raw.key = settings.text("key");
  raw.timeout = settings.text("timeout");
  raw.type_of_service = settings.text("tos");
  raw.rdma_address = settings.text("rdma-address");
  raw.is_insecure = settings.flag("insecure");
  raw.encrypt = settings.flag("encrypt");
  return raw;
}

void refuse_device_memory(const Settings& settings) {
  const std::string memory = settings.text("memory");
  if (memory == "cuda" || memory == "dmabuf" || memory == "gl") {
    throw Failure(FW_ERROR_UNSUPPORTED, "option memory is " + quote(memory) +
                                            ": this version keeps frames in host memory only; leave it out");
  }
}

std::optional<Delivery> delivery_of(const Settings& settings) {
  if (!settings.has("delivery")) {
    return std::nullopt;
  }
  const auto delivery = delivery_from_name(settings.text("delivery"));
  if (!delivery) {
    throw Error::usage("option delivery is " + quote(settings.text("delivery")) + "; it takes latest or every");
  }
  return delivery;
}

WaitMode wait_mode_of(const Settings& settings) {
  return settings.flag("spin") ? WaitMode::spin : WaitMode::adaptive;
}

}  // namespace

Settings::Settings(const fw_settings* settings, const char* function, std::vector<std::string_view> known) {
  if (settings == nullptr) {
    return;
  }
  const std::string where = std::string(function) + "(): ";
  check_struct_size(settings->struct_size, offsetof(fw_settings, log_user) + sizeof(void*), function, "fw_settings");
  if (settings->option_count > most_options || (settings->option_count > 0 && settings->options == nullptr)) {
    throw Failure(FW_ERROR_ARGUMENT,
                  where + "option_count is " + std::to_string(settings->option_count) +
                      (settings->options == nullptr ? ", and options is NULL" : ", which is too many"));
  }
  for (std::size_t i = 0; i < settings->option_count; ++i) {
    const fw_option& option = settings->options[i];
    if (option.name == nullptr || option.value == nullptr) {
      throw Failure(FW_ERROR_ARGUMENT, where + "option " + std::to_string(i) + " has no name, or no value: it is NULL");
    }
    if (std::ranges::find(known, option.name) == known.end()) {
      throw Failure(FW_ERROR_ARGUMENT,
                    where + "there is no option " + quote(option.name) + " here; it takes " + all_of(known));
    }
    if (has(option.name)) {
      throw Failure(FW_ERROR_ARGUMENT, where + "option " + option.name + " was given twice; leave one out");
    }
    if (option.value[0] == '\0') {
      throw Failure(FW_ERROR_ARGUMENT, where + "option " + option.name + " is empty; give it a value, or leave it out");
    }
    options_.push_back({option.name, option.value});
  }
}

const Settings::Option* Settings::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found != options_.end() ? &*found : nullptr;
}

std::string Settings::text(std::string_view name) const {
  const Option* const option = find(name);
  return option != nullptr ? option->value : std::string();
}

bool Settings::flag(std::string_view name, bool otherwise) const {
  const Option* const option = find(name);
  if (option == nullptr) {
    return otherwise;
  }
  if (option->value != "yes" && option->value != "no") {
    throw Error::usage("option " + option->name + " is " + quote(option->value) + "; it takes yes or no");
  }
  return option->value == "yes";
}

EndpointOptions sender_endpoint(const fw_settings* settings) {
  const Settings given(settings, "fw_sender_create", endpoint_and({"to"}));
  refuse_device_memory(given);
  EndpointOptions endpoint;
  if (given.has("to") && given.has("listen")) {
    throw Error::usage("both option listen and option to were given; a sender either waits for viewers or dials one");
  }
  if (given.has("to")) {
    endpoint.dial = parse_dialled(given.text("to"), default_frame_port);
  } else {
    endpoint.listen = given.has("listen") ? parse_host_port(given.text("listen"), default_frame_port) : HostPort{};
  }
  parse_endpoint_options(raw_options(given), endpoint);
  return endpoint;
}

StreamOptions stream_options(const char* name, const fw_settings* settings) {
  const Settings given(settings, "fw_sender_add_stream",
                       {"delivery", "slots", "viewers", "frames", "duration", "spin"});
  StreamOptions options;
  options.name = name;
  if (options.name.empty() || options.name.size() > max_stream_name_characters ||
      !std::ranges::all_of(options.name, is_stream_name_character)) {
    throw Error::usage("fw_sender_add_stream(): the name is " + quote(options.name) +
                       "; it takes 1 to 64 letters, digits, '-', '_' and '.'");
  }
  options.delivery = delivery_of(given).value_or(Delivery::latest);
  options.wait = wait_mode_of(given);
  if (given.has("slots")) {
    options.slots_per_viewer = static_cast<std::uint32_t>(parse_number(given.text("slots"), "option slots", 1, 64));
  }
  if (given.has("viewers")) {
    options.max_viewers =
        static_cast<std::uint32_t>(parse_number(given.text("viewers"), "option viewers", 1, max_stream_viewers));
  }
  if (given.has("frames")) {
    options.max_frames = parse_number(given.text("frames"), "option frames", 1, UINT64_MAX);
  }
  if (given.has("duration")) {
    options.max_duration_ns = parse_duration_ns(given.text("duration"), "option duration");
  }
  if (pool_slots_for(options.max_viewers, options.slots_per_viewer) + max_extra_slots > max_pool_slots) {
    throw Error::usage("option slots is " + std::to_string(options.slots_per_viewer) + " for each of " +
                       std::to_string(options.max_viewers) + " viewers, which is more than " +
                       std::to_string(max_pool_slots) + " frames in memory; take less of either");
  }
  return options;
}

ReceiverOptions receiver_options(const char* source, const fw_settings* settings) {
  const Settings given(settings, "fw_receiver_create",
                       endpoint_and({"no-relaxed-ordering", "delivery", "retry", "spin", "reconnect", "read"}));
  refuse_device_memory(given);
  SubscriberOptions options;
  if (source != nullptr && given.has("listen")) {
    throw Error::usage("both a source, " + quote(source) +
                       ", and option listen were given; a receiver either dials a sender or waits for one");
  }
  if (source != nullptr) {
    StreamAddress address = parse_stream_address(source, "fw_receiver_create(): source");
    options.endpoint.dial = std::move(address.host);
    options.stream = std::move(address.stream);
  } else {
    options.endpoint.listen =
        given.has("listen") ? parse_host_port(given.text("listen"), default_frame_port) : HostPort{};
  }
  RawCommonOptions raw = raw_options(given);
  raw.strict_ordering = given.flag("no-relaxed-ordering");
  parse_endpoint_options(raw, options.endpoint);
  options.delivery = delivery_of(given);
  options.reconnect = given.flag("reconnect", true);
  options.retry_ns = given.has("retry") ? parse_duration_ns(given.text("retry"), "option retry") : -1;
  options.takes_messages = true;
  options.program = "libframewire " FRAMEWIRE_VERSION;
  const std::string read = given.has("read") ? given.text("read") : "thread";
  if (read != "thread" && read != "caller") {
    throw Error::usage("option read is " + quote(read) + "; it takes thread or caller");
  }
  options.driver = read == "caller" ? Driver::program : Driver::subscriber;
  return {.subscriber = std::move(options), .wait = wait_mode_of(given)};
}

std::shared_ptr<ProgramLog> make_log(const fw_settings* settings) {
  return std::make_shared<ProgramLog>(settings != nullptr ? settings->log : nullptr,
                                      settings != nullptr ? settings->log_user : nullptr);
}

}  // namespace framewire
