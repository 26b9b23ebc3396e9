#include "tests/cuda/delayed_writes.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace framewire::test::delayed_writes {

namespace {

struct Delayed {
  std::byte* pages = nullptr;
  std::byte* memory = nullptr;
  std::size_t length = 0;
};

/// A READ in flight, with what it will show.
struct Read {
  std::uint32_t queue_pair = 0;
  ibv_mr* mr = nullptr;
  std::vector<std::byte> seen{};
};

/// A completion that the program does not have yet.
struct Late {
  ibv_cq* queue = nullptr;
  ibv_wc completion{};
  int polls = 0;
};

struct Book {
  std::mutex mutex;                                 // guards everything
  std::map<ibv_context*, ibv_context_ops> devices;  // as they were before this
  std::map<ibv_mr*, Delayed> delayed;
  std::vector<Read> reads;
  std::size_t count = 0;
  bool shows_nothing = false;
  int refusal = 0;
  int write_refusal = 0;
  ibv_wc_status failure = IBV_WC_SUCCESS;
  bool holds = false;
  int late_polls = 0;
  std::vector<Late> late;
};

Book& book() {
  static auto* one = new Book;  // devices live on
  return *one;
}

ibv_context_ops original(ibv_context* device) {
  const std::scoped_lock lock(book().mutex);
  return book().devices.at(device);
}

/// Notes the READs of such memory. Returns why a request is refused; 0: none is.
int note_requests(ibv_qp* pair, ibv_send_wr* requests) {
  const std::scoped_lock lock(book().mutex);
  for (const ibv_send_wr* request = requests; request != nullptr; request = request->next) {
    const auto found = std::ranges::find_if(book().delayed, [&](const auto& one) {
      return (request->opcode == IBV_WR_RDMA_READ || request->opcode == IBV_WR_RDMA_WRITE) &&
             one.first->rkey == request->wr.rdma.rkey && one.first->context == pair->context;
    });
    if (found == book().delayed.end()) {
      continue;
    }
    if (request->opcode == IBV_WR_RDMA_WRITE) {
      if (book().write_refusal != 0) {
        return book().write_refusal;
      }
      continue;
    }
    if (book().refusal != 0) {
      return book().refusal;
    }
    ++book().count;
    const std::span<const std::byte> pages(found->second.pages, found->second.length);
    book().reads.push_back({.queue_pair = pair->qp_num, .mr = found->first, .seen = {pages.begin(), pages.end()}});
  }
  return 0;
}

/// Under the mutex. If this is the completion of such a READ, the memory shows what it has read.
void end_read(ibv_wc& completion) {
  const auto read = std::ranges::find(book().reads, completion.qp_num, &Read::queue_pair);
  if (read == book().reads.end()) {
    return;
  }
  if (book().failure != IBV_WC_SUCCESS) {
    completion.status = book().failure;
  }
  const auto found = book().delayed.find(read->mr);
  if (completion.status == IBV_WC_SUCCESS && found != book().delayed.end() && !book().shows_nothing) {
    std::memcpy(found->second.memory, read->seen.data(), read->seen.size());
  }
  book().reads.erase(read);
}

/// Returns whether the program gets this completion now.
bool take(ibv_cq* queue, ibv_wc& completion) {
  const std::scoped_lock lock(book().mutex);
  const bool is_of_read = std::ranges::find(book().reads, completion.qp_num, &Read::queue_pair) != book().reads.end();
  if (is_of_read && book().holds) {
    return false;
  }
  if (is_of_read && book().late_polls > 0) {
    book().late.push_back({.queue = queue, .completion = completion, .polls = book().late_polls});
    return false;
  }
  end_read(completion);
  return true;
}

/// A late completion whose time has come.
std::optional<ibv_wc> take_late(ibv_cq* queue) {
  const std::scoped_lock lock(book().mutex);
  const auto late = std::ranges::find(book().late, queue, &Late::queue);
  if (late == book().late.end() || --late->polls > 0) {
    return std::nullopt;
  }
  ibv_wc completion = late->completion;
  book().late.erase(late);
  end_read(completion);
  return completion;
}

int post_send(ibv_qp* pair, ibv_send_wr* requests, ibv_send_wr** bad) {
  if (const int refusal = note_requests(pair, requests); refusal != 0) {
    *bad = requests;
    return refusal;
  }
  return original(pair->context).post_send(pair, requests, bad);
}

int poll_cq(ibv_cq* queue, int most, ibv_wc* completions) {
  if (const auto late = take_late(queue)) {
    completions[0] = *late;
    return 1;
  }
  const int count = original(queue->context).poll_cq(queue, most, completions);
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    ibv_wc completion = completions[i];
    if (take(queue, completion)) {
      completions[kept++] = completion;
    }
  }
  return count < 0 ? count : kept;
}

}  // namespace

void reset() {
  const std::scoped_lock lock(book().mutex);
  book().count = 0;
  book().shows_nothing = false;
  book().refusal = 0;
  book().write_refusal = 0;
  book().failure = IBV_WC_SUCCESS;
  book().holds = false;
  book().late_polls = 0;
  book().late.clear();
  book().reads.clear();
}

void begin(ibv_mr* mr, std::byte* pages, std::byte* memory, std::size_t length) {
  const std::scoped_lock lock(book().mutex);
  book().delayed[mr] = {.pages = pages, .memory = memory, .length = length};
  ibv_context* const device = mr->context;
  if (device->ops.post_send != nullptr && book().devices.emplace(device, device->ops).second) {
    device->ops.post_send = post_send;
    device->ops.poll_cq = poll_cq;
  }
}

std::byte* end(ibv_mr* mr) {
  const std::scoped_lock lock(book().mutex);
  const auto found = book().delayed.extract(mr);
  return found.empty() ? nullptr : found.mapped().memory;
}

std::size_t reads() {
  const std::scoped_lock lock(book().mutex);
  return book().count;
}

void show_nothing(bool shows_nothing) {
  const std::scoped_lock lock(book().mutex);
  book().shows_nothing = shows_nothing;
}

void refuse(int error_number) {
  const std::scoped_lock lock(book().mutex);
  book().refusal = error_number;
}

void refuse_writes(int error_number) {
  const std::scoped_lock lock(book().mutex);
  book().write_refusal = error_number;
}

void fail(ibv_wc_status status) {
  const std::scoped_lock lock(book().mutex);
  book().failure = status;
}

void hold(bool holds) {
  const std::scoped_lock lock(book().mutex);
  book().holds = holds;
}

void end_late(int polls) {
  const std::scoped_lock lock(book().mutex);
  book().late_polls = polls;
}

}  // namespace framewire::test::delayed_writes
