#include "weft/graph/plan/update_order.h"

#include <algorithm>

namespace weft {
namespace {

using Index = std::size_t;
constexpr int kLongestChain = 8;

class Orderer {
 public:
  Orderer(const Plan& plan, const Uses& uses)
      : plan_(plan),
        uses_(uses),
        reads_(variable_reads(plan)),
        check_producers_(check_producers(plan, uses)),
        further_(plan.steps.size()),
        seen_(plan.steps.size(), 0),
        target_(plan.steps.size(), 0) {}

  UpdateOrder run() {
    UpdateOrder result;
    for (Index u = 0; u < plan_.updates.size(); ++u) {
      UpdateChain chain;
      chain.update = static_cast<int>(u);
      if (!find_chain(chain)) continue;
      std::vector<int> before = check_producers_;
      const int read = reads_[static_cast<Index>(plan_.updates[u].variable)];
      if (read >= 0) {
        const std::vector<int>& readers = uses_.readers[static_cast<Index>(read)];
        before.insert(before.end(), readers.begin(), readers.end());
      }
      std::erase(before, chain.head);
      const bool head_feeds_check =
          std::binary_search(check_producers_.begin(), check_producers_.end(), chain.head);
      if (head_feeds_check || reaches_any(chain.head, before)) continue;
      for (int b : before) {
        further_[static_cast<Index>(b)].push_back(chain.head);
        result.edges.emplace_back(b, chain.head);
      }
      result.chains.push_back(std::move(chain));
    }
    return result;
  }

 private:
  // Walks back from the new value through steps that may write over an operand, to the variable.
  bool find_chain(UpdateChain& chain) const {
    const PlanUpdate& update = plan_.updates[static_cast<Index>(chain.update)];
    const int root = root_of(plan_, update.value);
    const int producer = uses_.producer[static_cast<Index>(root)];
    if (producer < 0) return false;  // a leaf is copied
    const int read = reads_[static_cast<Index>(update.variable)];
    if (read >= 0 && uses_.at_end[static_cast<Index>(read)]) return false;
    if (read >= 0 && walk(chain, root, read, kLongestChain)) return true;
    chain.head = producer;  // writes over the variable without reading it
    chain.links.clear();
    return true;
  }

  bool walk(UpdateChain& chain, int root, int read, int depth) const {
    const int s = uses_.producer[static_cast<Index>(root)];
    if (s < 0 || depth == 0) return false;
    const PlanStep& step = plan_.steps[static_cast<Index>(s)];
    if (step.node == nullptr) return false;
    for (const auto& [output, input] : step.node->op().inplace) {
      if (!may_overwrite(plan_, step, output, input)) continue;
      if (step.outputs[static_cast<Index>(output)] != root) continue;
      const int from = root_of(plan_, step.inputs[static_cast<Index>(input)]);
      if (from == read) {
        chain.head = s;
        chain.output = output;
        chain.input = input;
        return true;
      }
      const auto f = static_cast<Index>(from);
      if (uses_.producer[f] < 0 || uses_.at_end[f] || uses_.readers[f].size() != 1) continue;
      if (walk(chain, from, read, depth - 1)) {
        chain.links.push_back({s, output, input});
        return true;
      }
    }
    return false;
  }

  bool reaches_any(int from, const std::vector<int>& targets) {
    ++stamp_;
    for (int t : targets) target_[static_cast<Index>(t)] = stamp_;
    std::vector<int> stack = {from};
    seen_[static_cast<Index>(from)] = stamp_;
    const auto visit = [&](int next) {
      if (seen_[static_cast<Index>(next)] == stamp_) return;
      seen_[static_cast<Index>(next)] = stamp_;
      stack.push_back(next);
    };
    while (!stack.empty()) {
      const int s = stack.back();
      stack.pop_back();
      if (target_[static_cast<Index>(s)] == stamp_) return true;
      for (int id : plan_.steps[static_cast<Index>(s)].outputs) {
        if (id < 0) continue;
        for (int reader : uses_.readers[static_cast<Index>(id)]) visit(reader);
      }
      for (int next : further_[static_cast<Index>(s)]) visit(next);
    }
    return false;
  }

  const Plan& plan_;
  const Uses& uses_;
  const std::vector<int> reads_;
  const std::vector<int> check_producers_;
  std::vector<std::vector<int>> further_;
  std::vector<int> seen_, target_;
  int stamp_ = 0;
};

}  // namespace

UpdateOrder order_updates(const Plan& plan, const Uses& uses) { return Orderer(plan, uses).run(); }

}  // namespace weft
