#include "bench/results.hpp"

#include <utility>

namespace framewire {

namespace {

std::string describe(const RowPlan& plan) {
  return plan.transport + " " + plan.operation + " of " + std::to_string(plan.message_bytes) + " bytes";
}

}  // namespace

Results::Results(std::vector<RowPlan> plans, bool may_leave_out)
    : plans_(std::move(plans)),
      may_leave_out_(may_leave_out),
      results_of_plans_(plans_.size()),
      is_left_out_(plans_.size(), false) {}

void Results::leave_out(std::size_t plan, const CannotBegin& why) {
  const std::string& transport = plans_[plan].transport;
  // For plain sockets, lost_peer means that there is no server at all.
  const bool may_lack = transport == "rdma" || transport == verbs_transport ||
                        (transport == socket_transport && why.status() != ExitStatus::lost_peer);
  if (!may_leave_out_ || !may_lack) {
    throw CannotBegin(why);
  }
  const bool is_there_none = why.status() == ExitStatus::refused || why.status() == ExitStatus::lost_peer;
  if (!is_there_none) {
    is_left_out_[plan] = true;
    omissions_.push_back(describe(plans_[plan]) + " is left out: " + why.what());
    status_ = ExitStatus::failed;
    return;
  }
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    is_left_out_[i] = is_left_out_[i] || plans_[i].transport == transport;
  }
  omissions_.push_back("rows are left out from " + describe(plans_[plan]) + " on, there is no " + transport + ": " +
                       why.what());
}

std::vector<RowResult> Results::rows() const {
  std::vector<RowResult> rows;
  for (const auto& of_plan : results_of_plans_) {
    if (!of_plan.empty()) {
      rows.push_back(median_row(of_plan));
    }
  }
  return rows;
}

}  // namespace framewire
