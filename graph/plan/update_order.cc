#include "weft/graph/plan/update_order.h"

#include <algorithm>

namespace weft {
namespace {

constexpr int kMaxChainLength = 8;

class Orderer {
 public:
  Orderer(const Plan& plan, const Liveness& liveness)
      : plan_(plan),
        liveness_(liveness),
        reads_(variable_reads(plan)),
        check_producers_(check_producers(plan, liveness)),
        further_(plan.steps.size()),
        seen_(plan.steps.size()),
        target_(plan.steps.size()) {}

  UpdateOrder run() {
    UpdateOrder result;
    for (const UpdateId u : plan_.updates.ids()) {
      if (plan_.updates[u].output >= 0) continue;  // stored in an output; nothing is overwritten
      UpdateChain chain;
      chain.update = u;
      if (!find_chain(chain)) continue;
      std::vector<StepId> before = check_producers_;
      const ValueId read = reads_[plan_.updates[u].variable];
      if (read.defined()) {
        const std::vector<StepId>& readers = liveness_.readers[read];
        before.insert(before.end(), readers.begin(), readers.end());
      }
      std::erase(before, chain.head);
      const bool head_feeds_check =
          std::binary_search(check_producers_.begin(), check_producers_.end(), chain.head);
      if (head_feeds_check || reaches_any(chain.head, before)) continue;
      for (const StepId b : before) {
        further_[b].push_back(chain.head);
        result.edges.emplace_back(b, chain.head);
      }
      result.chains.push_back(std::move(chain));
    }
    return result;
  }

 private:
  // Follows the chain backwards from the new value to the variable, through steps that may
  // overwrite an operand.
  bool find_chain(UpdateChain& chain) const {
    const PlanUpdate& update = plan_.updates[chain.update];
    const ValueId root = root_of(plan_, update.value);
    const StepId producer = liveness_.producer[root];
    if (!producer.defined()) return false;  // a leaf is copied
    const ValueId read = reads_[update.variable];
    if (read.defined() && liveness_.at_end[read]) return false;
    if (read.defined() && walk(chain, root, read, kMaxChainLength)) return true;
    chain.head = producer;  // overwrites the variable without reading it
    chain.links.clear();
    return true;
  }

  bool walk(UpdateChain& chain, ValueId root, ValueId read, int depth) const {
    const StepId s = liveness_.producer[root];
    if (!s.defined() || depth == 0) return false;
    const PlanStep& step = plan_.steps[s];
    if (step.node == nullptr) return false;
    for (const auto& [output, input] : step.may_inplace()) {
      if (!may_overwrite(plan_, step, output, input)) continue;
      if (step.output(output) != root) continue;
      const ValueId from = root_of(plan_, step.input(input));
      if (from == read) {
        chain.head = s;
        chain.output = output;
        chain.input = input;
        return true;
      }
      if (!liveness_.producer[from].defined() || liveness_.at_end[from]) continue;
      if (liveness_.readers[from].size() != 1) continue;
      if (walk(chain, from, read, depth - 1)) {
        chain.links.push_back({s, output, input});
        return true;
      }
    }
    return false;
  }

  bool reaches_any(StepId from, const std::vector<StepId>& targets) {
    ++stamp_;
    for (const StepId t : targets) target_[t] = stamp_;
    std::vector<StepId> stack = {from};
    seen_[from] = stamp_;
    const auto visit = [&](StepId next) {
      if (seen_[next] == stamp_) return;
      seen_[next] = stamp_;
      stack.push_back(next);
    };
    while (!stack.empty()) {
      const StepId s = stack.back();
      stack.pop_back();
      if (target_[s] == stamp_) return true;
      for (const ValueId id : plan_.steps[s].outputs) {
        if (!id.defined()) continue;
        for (const StepId reader : liveness_.readers[id]) visit(reader);
      }
      for (const StepId next : further_[s]) visit(next);
    }
    return false;
  }

  const Plan& plan_;
  const Liveness& liveness_;
  const IdVector<VariableId, ValueId> reads_;
  const std::vector<StepId> check_producers_;
  IdVector<StepId, std::vector<StepId>> further_;
  IdVector<StepId, int> seen_, target_;  // the last search that visited or targeted the step
  int stamp_ = 0;
};

}  // namespace

UpdateOrder order_updates(const Plan& plan, const Liveness& liveness) {
  return Orderer(plan, liveness).run();
}

}  // namespace weft
