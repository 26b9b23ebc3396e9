#include "viewer/viewed_stream.hpp"

#include <utility>

namespace framewire {

ViewedStream::ViewedStream(const ViewerOptions& options, StreamFacts facts, Listeners listeners)
    : options_(options), peer_text_(facts.peer_text), listeners_(std::move(listeners)), facts_(std::move(facts)) {}

StreamFacts ViewedStream::facts() const {
  const std::scoped_lock lock(mutex_);
  return facts_;
}

void ViewedStream::set_facts(const StreamFacts& facts) {
  {
    const std::scoped_lock lock(mutex_);
    std::string trouble = std::move(facts_.trouble);
    facts_ = facts;
    facts_.trouble = std::move(trouble);
  }
  ++facts_version_;
  listeners_.on_news();
}

std::optional<Silence> ViewedStream::silence_since(std::int64_t heard_ns) const {
  const std::scoped_lock lock(mutex_);
  return facts_.trouble.empty() ? silence_of(facts_.status, heard_ns, options_.session.endpoint.pull_interval_ns)
                                : std::nullopt;
}

void ViewedStream::set_trouble(const std::string& trouble) {
  {
    const std::scoped_lock lock(mutex_);
    facts_.trouble = trouble;
  }
  ++facts_version_;
  listeners_.on_news();
}

bool ViewedStream::has_all_frames() const noexcept {
  const std::uint64_t most = options_.common.max_frames;
  return most != 0 && statistics_.counts().frames_received >= most;
}

std::optional<ExitStatus> ViewedStream::ending() const {
  const std::scoped_lock lock(mutex_);
  return ending_;
}

void ViewedStream::end(ExitStatus status) {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = status;
  }
  listeners_.on_end();
}

}  // namespace framewire
