#include "bytes/byte_protocol.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command/json_text.hpp"
#include "transport/json_fields.hpp"

namespace framewire {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t end_bit = 1;
constexpr std::uint64_t check_bit = 2;
constexpr int check_shift = 32;
constexpr std::uint64_t known_bits = end_bit | check_bit | (std::uint64_t{UINT32_MAX} << check_shift);
// One byte may take six in JSON.
constexpr std::size_t longest_error_bytes = 300;

Json digest_to_json(const std::optional<std::uint64_t>& digest) {
  return text_or_null(digest ? digest_text(*digest) : "");
}

Error wrong(std::string_view what, std::string_view field, std::string_view wanted) {
  return Error::failed("the peer's " + std::string(what) + " has no good field '" + std::string(field) + "'; it is " +
                       std::string(wanted));
}

nlohmann::json parse_object(const std::string& text, std::string_view what) {
  nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) {
    throw Error::failed("the peer's " + std::string(what) + " is no JSON object: " + quote(text));
  }
  return object;
}

bool is_null(const nlohmann::json& object, const char* field) {
  return object.contains(field) && object[field].is_null();
}

std::uint64_t bytes_of(const nlohmann::json& object, std::string_view what) {
  if (const auto bytes = find_unsigned(object, "bytes")) {
    return *bytes;
  }
  throw wrong(what, "bytes", "a whole number");
}

std::optional<std::uint64_t> digest_of(const nlohmann::json& object, std::string_view what) {
  if (is_null(object, "digest")) {
    return std::nullopt;
  }
  std::uint64_t digest = 0;
  if (const std::string* text = find_text(object, "digest")) {
    const auto parsed = std::from_chars(text->data(), text->data() + text->size(), digest, 16);
    if (text->size() == 16 && parsed.ec == std::errc() && parsed.ptr == text->data() + text->size()) {
      return digest;
    }
  }
  throw wrong(what, "digest", "16 hexadecimal digits, or null");
}

std::string error_of(const nlohmann::json& object, std::string_view what) {
  if (is_null(object, "error")) {
    return {};
  }
  const std::string* text = find_text(object, "error");
  if (text == nullptr) {
    throw wrong(what, "error", "a sentence, or null");
  }
  return text->empty() ? "it does not say why" : printable(*text, longest_error_bytes);
}

bool flag_of(const nlohmann::json& object, std::string_view what, const char* field) {
  if (const auto flag = find_flag(object, field)) {
    return *flag;
  }
  throw wrong(what, field, "true or false");
}

Json error_to_json(const std::string& error) {
  return text_or_null(error.substr(0, longest_error_bytes));
}

/// Replaces invalid UTF-8: a file's name may contain any bytes.
std::string dump(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string digest_text(std::uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

std::uint64_t encode(const ChunkTag& tag) noexcept {
  const std::uint64_t check = tag.check ? check_bit | (std::uint64_t{*tag.check} << check_shift) : 0;
  return (tag.is_end ? end_bit : 0) | check;
}

std::optional<ChunkTag> decode_chunk_tag(std::uint64_t user_tag) noexcept {
  const bool has_check = (user_tag & check_bit) != 0;
  if ((user_tag & ~known_bits) != 0 || (!has_check && user_tag >> check_shift != 0)) {
    return std::nullopt;
  }
  ChunkTag tag{.is_end = (user_tag & end_bit) != 0};
  if (has_check) {
    tag.check = static_cast<std::uint32_t>(user_tag >> check_shift);
  }
  return tag;
}

std::string to_json_text(const EndRecord& record) {
  return dump(
      {{"bytes", record.bytes}, {"digest", digest_to_json(record.digest)}, {"error", error_to_json(record.error)}});
}

EndRecord end_record_from(const std::string& json_text) {
  constexpr std::string_view what = "end record";
  const nlohmann::json object = parse_object(json_text, what);
  return {.bytes = bytes_of(object, what), .digest = digest_of(object, what), .error = error_of(object, what)};
}

std::string to_json_text(const Receipt& receipt) {
  return dump({{"bytes", receipt.bytes},
               {"digest", digest_to_json(receipt.digest)},
               {"durable", receipt.is_durable},
               {"error", error_to_json(receipt.error)},
               {"reader_left", receipt.reader_left},
               {"sink_seconds", receipt.sink_seconds}});
}

Receipt receipt_from(const std::string& json_text) {
  constexpr std::string_view what = "receipt";
  const nlohmann::json object = parse_object(json_text, what);
  Receipt receipt{.bytes = bytes_of(object, what), .digest = digest_of(object, what), .error = error_of(object, what)};
  receipt.is_durable = flag_of(object, what, "durable");
  receipt.reader_left = flag_of(object, what, "reader_left");
  receipt.sink_seconds = find_number(object, "sink_seconds").value_or(-1);
  if (receipt.sink_seconds < 0) {
    throw wrong(what, "sink_seconds", "a number that is not negative");
  }
  return receipt;
}

}  // namespace framewire
