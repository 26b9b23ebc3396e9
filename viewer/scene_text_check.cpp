#include "viewer/scene_text_check.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

constexpr int max_scene_dots = 4096;  // of which a layer needs nine, in its numbers

class SceneTextCheck {
 public:
  SceneTextCheck(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void run() {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    line_begin_ = text_.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
    for (at_ = line_begin_; at_ < text_.size(); ++at_) {
      const char next = text_[at_];
      if (next == '\n') {
        quote_ = '\0';
        is_comment_ = false;
        ++line_;
        line_begin_ = at_ + 1;
      } else if (!is_comment_) {
        check_character(next);
      }
    }
  }

 private:
  void check_character(char next) {
    // Where toml++ asks whether such a character is a blank, that is undefined behaviour for U+00A1 to U+0499. Hosts
    // and streams have no such names.
    const auto byte = static_cast<unsigned char>(next);
    if ((byte < 0x20 && next != '\t' && next != '\r') || byte >= 0x7f) {
      fail(fmt::format("{} stands outside a comment; a scene takes only ASCII there", quote(character())));
    }
    if (quote_ != '\0') {
      pass_string(next);
    } else {
      check_outside(next);
    }
  }

  void pass_string(char next) {
    const bool is_escape =
        next == '\\' && quote_ == '"' && at_ + 1 < text_.size() && (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\');
    at_ += is_escape ? 1 : 0;
    quote_ = next == quote_ ? '\0' : quote_;
  }

  void check_outside(char next) {
    if (next == '"' || next == '\'') {
      if (text_.substr(at_).starts_with(std::string(3, next))) {
        fail("three quotation marks begin a string of several lines; a scene takes strings of one line");
      }
      quote_ = next;
    } else if (next == '#') {
      is_comment_ = true;
    } else if (next == '.') {
      // Each dot of a key is a table inside another one, which toml++ frees by recursion.
      if (++dots_ > max_scene_dots) {
        fail(fmt::format("more than {} dots outside quotation marks; a scene takes fewer", max_scene_dots));
      }
    }
  }

  [[nodiscard]] std::string_view character() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && end < at_ + 4 && (static_cast<unsigned char>(text_[end]) & 0xc0U) == 0x80) {
      ++end;
    }
    return text_.substr(at_, end - at_);
  }

  [[noreturn]] void fail(std::string_view sentence) const {
    const std::size_t column = at_ - line_begin_ + 1;  // all before it in this line is ASCII
    throw Error::usage(fmt::format("{}: {}", place_in_scene(name_, line_, column), sentence));
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  std::size_t line_ = 1;
  int dots_ = 0;
  char quote_ = '\0';  // of the string in which `at_` is; none outside
  bool is_comment_ = false;
};

}  // namespace

std::string place_in_scene(const std::string& name, std::size_t line, std::size_t column) {
  return fmt::format("{}:{}:{}", printable(name), line, column);
}

void check_scene_text(std::string_view text, const std::string& name) {
  SceneTextCheck(text, name).run();
}

}  // namespace framewire
