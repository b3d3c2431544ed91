// Gathers elementwise ops of one shape into nodes `fused`, which run in one pass over memory.
//
// Groups grow over edges between a producer and its user: a merge saves reading what lies between,
// and writing it too where nobody else wants it; what others want becomes a result of the group.
// Merging a producer's group into a user's would close a cycle exactly if another way leads from
// the one to the other over other groups. The search for such a way ends at the user's last member,
// and after a number of steps: values with many users, or whose users are far apart (an activation
// and the backward pass, where there nearly always is another way), stay apart, so that the time of
// the pass grows with the program and not with its square.
#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/ops/fusion/tile_program.h"

namespace weft {
namespace {

using Index = std::size_t;

// Uses that one search looks at. Training steps of transformers and of recurrent models come out
// with as few nodes as without a limit.
constexpr int kMaxSearch = 128;

bool fusable(const Node& node) {
  // Recomputed clones are there for memory's sake.
  if (node.instance() != 0 || !can_be_step(node.op(), node.attributes())) return false;
  RowRequest row{{}, node.type(0).dtype, 0, node.attributes()};
  for (const Value& v : node.inputs()) {
    if (!v.defined()) return false;
    row.inputs.push_back(v.dtype());
  }
  return static_cast<bool>(node.op().row(row));
}

/// A sum, mean, maximum or minimum of floats over last axes.
bool is_trailing_reduction(const Node& node) {
  const std::string& name = node.op().name;
  if (name != "sum" && name != "mean" && name != "max" && name != "min") return false;
  if (node.instance() != 0 || builtin_ops()->find(name) != &node.op()) return false;
  const DType dtype = node.input(0).dtype();
  if (dtype != DType::f32 && dtype != DType::f64) return false;
  const auto& axes = node.attributes().integers("axes");
  const int rank = node.input(0).rank();
  return !axes.empty() && axes.front() + static_cast<std::int64_t>(axes.size()) == rank;
}

class Groups {
 public:
  explicit Groups(const Program& program) {
    const Consumers consumers(program);
    nodes_ = consumers.nodes();
    const Index n = nodes_.size();
    for (Index i = 0; i < n; ++i) index_.emplace(nodes_[i], static_cast<int>(i));
    users_.resize(n);
    fusable_.resize(n);
    is_root_.resize(n);
    for (Index i = 0; i < n; ++i) {
      fusable_[i] = fusable(*nodes_[i]);
      is_root_[i] = consumers.is_root(*nodes_[i]);
      for (const Node* user : consumers.readers(*nodes_[i])) {
        users_[i].push_back(index_.at(user));
      }
    }
    group_of_.resize(n);
    std::iota(group_of_.begin(), group_of_.end(), 0);
    members_.resize(n);
    for (Index i = 0; i < n; ++i) members_[i] = {static_cast<int>(i)};
    seen_.assign(n, 0);
    grow();
    end_in_reductions();
    put_in_order();
  }

  /// What finding the groups took: nodes, uses and groups that were looked at.
  std::int64_t steps() const { return steps_; }
  /// Groups in topological order: fn(members in the order of the program, the reduction in which
  /// they end or -1).
  template <class Fn>
  void for_each(Fn&& fn) const {
    for (const int group : order_) {
      const auto g = static_cast<Index>(group);
      if (members_[g].empty() || ends_in_reduction_[g]) continue;
      const auto reduced = reduced_group_.find(group);
      if (reduced == reduced_group_.end()) {
        fn(members_[g], -1);
      } else {  // a reduction is a group of its own, called as itself
        fn(members_[static_cast<Index>(reduced->second)], group);
      }
    }
  }
  Node& node(int i) const { return *nodes_[static_cast<Index>(i)]; }
  /// Values that the members read and do not make, in order of first use.
  std::vector<Value> inputs(const std::vector<int>& members) const {
    std::vector<Value> result;
    for (const int m : members) {
      for (const Value& v : node(m).inputs()) {
        if (contains(members, index_.at(v.node_pointer()))) continue;
        if (std::find(result.begin(), result.end(), v) == result.end()) result.push_back(v);
      }
    }
    return result;
  }
  /// Members that others read.
  std::vector<int> results(const std::vector<int>& members) const {
    std::vector<int> result;
    for (const int m : members) {
      const auto i = static_cast<Index>(m);
      const auto outside = [&](int user) { return !contains(members, user); };
      if (is_root_[i] || std::any_of(users_[i].begin(), users_[i].end(), outside)) {
        result.push_back(m);
      }
    }
    return result;
  }

 private:
  static bool contains(const std::vector<int>& members, int i) {
    return std::binary_search(members.begin(), members.end(), i);
  }

  void grow() {
    for (Index i = 0; i < nodes_.size(); ++i) {
      if (!fusable_[i]) continue;
      for (const Value& v : nodes_[i]->inputs()) {
        const auto p = static_cast<Index>(index_.at(v.node_pointer()));
        if (fusable_[p] && v.shape() == nodes_[i]->type(0).shape) {
          try_merge(group_of_[p], group_of_[i]);
        }
      }
    }
  }

  /// A group of which only a reduction wants anything ends in it: its result is never stored.
  void end_in_reductions() {
    ends_in_reduction_.assign(nodes_.size(), 0);
    for (Index i = 0; i < nodes_.size(); ++i) {
      if (!is_trailing_reduction(*nodes_[i])) continue;
      const auto p = static_cast<Index>(index_.at(nodes_[i]->input(0).node_pointer()));
      if (!fusable_[p] || is_root_[p] || users_[p].size() != 1) continue;
      const int group = group_of_[p];
      if (results(members_[static_cast<Index>(group)]).size() != 1) continue;
      ends_in_reduction_[static_cast<Index>(group)] = 1;
      reduced_group_.emplace(static_cast<int>(i), group);
    }
  }

  void try_merge(int producer, int user) {
    if (producer == user) return;
    const std::vector<int>& from = members_[static_cast<Index>(producer)];
    const std::vector<int>& to = members_[static_cast<Index>(user)];
    if (from.size() + to.size() > TileProgram::kMaxSteps) return;
    std::vector<int> both(from.size() + to.size());
    std::merge(from.begin(), from.end(), to.begin(), to.end(), both.begin());
    steps_ += static_cast<std::int64_t>(both.size());
    if (inputs(both).size() > TileProgram::kMaxInputs) return;
    if (results(both).size() > TileProgram::kMaxResults) return;
    if (another_way(producer, user)) return;
    for (const int m : from) group_of_[static_cast<Index>(m)] = user;
    members_[static_cast<Index>(user)] = std::move(both);
    members_[static_cast<Index>(producer)].clear();
  }

  /// Whether a way leads from `producer` over other groups to `user`, as far as a search of
  /// kMaxSearch steps can tell: a longer one counts as having found it.
  bool another_way(int producer, int user) {
    ++stamp_;
    int left = kMaxSearch;
    bool found = false;
    const int end = members_[static_cast<Index>(user)].back();
    std::vector<int> stack;
    const auto visit = [&](int group) {
      for (const int m : members_[static_cast<Index>(group)]) {
        for (const int u : users_[static_cast<Index>(m)]) {
          if (--left < 0) return;
          const int next = group_of_[static_cast<Index>(u)];
          if (next == user) found = found || group != producer;
          if (next == user || next == group || next == producer) continue;
          // What begins behind the last member of the user cannot lead to it.
          if (members_[static_cast<Index>(next)].front() > end) continue;
          if (seen_[static_cast<Index>(next)] == stamp_) continue;
          seen_[static_cast<Index>(next)] = stamp_;
          stack.push_back(next);
        }
      }
    };
    visit(producer);
    while (!stack.empty() && !found && left >= 0) {
      const int group = stack.back();
      stack.pop_back();
      visit(group);
    }
    steps_ += kMaxSearch - left;
    return found || left < 0;
  }

  /// Groups in an order in which none comes before what it reads: as early as the program has their
  /// last members.
  void put_in_order() {
    const Index n = nodes_.size();
    std::vector<int> waits_for(n);  // by group: reads of other groups
    const auto for_each_reader = [&](int group, auto&& fn) {
      for (const int m : members_[static_cast<Index>(group)]) {
        for (const int u : users_[static_cast<Index>(m)]) {
          const int reader = group_of_[static_cast<Index>(u)];
          if (reader != group) fn(reader);
          ++steps_;
        }
      }
    };
    using Entry = std::pair<int, int>;  // last member, group
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (Index g = 0; g < n; ++g) {
      for_each_reader(static_cast<int>(g),
                      [&](int reader) { ++waits_for[static_cast<Index>(reader)]; });
    }
    const auto add = [&](int group) {
      const auto& members = members_[static_cast<Index>(group)];
      if (!members.empty()) ready.emplace(members.back(), group);
    };
    for (Index g = 0; g < n; ++g) {
      if (waits_for[g] == 0) add(static_cast<int>(g));
    }
    order_.clear();
    while (!ready.empty()) {
      const int group = ready.top().second;
      ready.pop();
      order_.push_back(group);
      for_each_reader(group, [&](int reader) {
        if (--waits_for[static_cast<Index>(reader)] == 0) add(reader);
      });
    }
  }

  std::vector<Node*> nodes_;
  std::unordered_map<const Node*, int> index_;
  std::vector<std::vector<int>> users_;  // by node
  std::vector<char> fusable_, is_root_;
  std::vector<int> group_of_;                   // by node
  std::vector<int> order_;                      // of groups
  std::vector<std::vector<int>> members_;       // by group, increasing
  std::vector<char> ends_in_reduction_;         // by group
  std::unordered_map<int, int> reduced_group_;  // by reduction: the group that ends in it
  std::vector<int> seen_;                       // by group: the last search that came by
  int stamp_ = 0;
  std::int64_t steps_ = 0;
};

/// The group as a tile program on `inputs`.
TileProgram make_program(const Groups& groups, const std::vector<int>& members,
                         const std::vector<Value>& inputs, const std::vector<int>& results) {
  TileProgram program;
  program.inputs = static_cast<int>(inputs.size());
  const auto value_of = [&](const Value& v) {
    const auto input = std::find(inputs.begin(), inputs.end(), v);
    if (input != inputs.end()) return static_cast<int>(input - inputs.begin());
    const auto member = std::find_if(members.begin(), members.end(),
                                     [&](int m) { return &groups.node(m) == v.node_pointer(); });
    return program.inputs + static_cast<int>(member - members.begin());
  };
  for (const int m : members) {
    const Node& node = groups.node(m);
    TileStep step{&node.op(), node.attributes(), {}};
    for (const Value& v : node.inputs()) step.operands.push_back(value_of(v));
    program.steps.push_back(std::move(step));
  }
  for (const int r : results) program.results.push_back(value_of(groups.node(r).output(0)));
  return program;
}

/// Puts one node in place of the members, and of the reduction in which they end if that is not -1;
/// false if types do not come out as they were.
bool copy_fused(const Groups& groups, const std::vector<int>& members, int reduction,
                Cloner& cloner) {
  const std::vector<Value> inputs = groups.inputs(members);
  std::vector<int> results = groups.results(members);
  const TileProgram program = make_program(groups, members, inputs, results);
  if (program.inputs > TileProgram::kMaxInputs) return false;
  Graph& target = cloner.target();
  std::vector<Value> operands;
  std::vector<const ValueType*> types;
  for (const Value& v : inputs) {
    operands.push_back(cloner.copy(v));
    types.push_back(&operands.back().type());
  }
  try {
    const std::vector<ValueType> made = infer_values(program, types, target.facts());
    for (Index r = 0; r < results.size(); ++r) {
      if (!(made[static_cast<Index>(program.results[r])] == groups.node(results[r]).type(0))) {
        return false;
      }
    }
  } catch (const Error&) {
    return false;
  }
  Attributes attributes{{"program", program.str()}};
  const Node& last = groups.node(reduction >= 0 ? reduction : members.back());
  if (reduction >= 0) {
    results = {reduction};
    attributes.set("reduction", last.op().name);
    attributes.set("axes", last.attributes().integers("axes"));
    attributes.set("keepdims", last.attributes().flag("keepdims"));
  }
  const Index before = target.node_count();
  Node& fused = target.apply(reduction >= 0 ? "fused_reduce" : "fused", std::move(operands),
                             std::move(attributes), last.graph().location(last));
  if (target.node_count() != before) target.copy_place(last, fused);
  for (Index r = 0; r < results.size(); ++r) {
    cloner.set(groups.node(results[r]).output(0), fused.output(static_cast<int>(r)));
  }
  return true;
}

}  // namespace

Module fuse(Module module, const PassOptions& pass) {
  if (module.graph->ops().find("fused") == nullptr) return module;
  CloneOptions options;
  options.steps = pass.steps;
  options.copy_first = [&](Cloner& cloner) {
    const Groups groups(module.program);
    pass.count(static_cast<std::size_t>(groups.steps()));
    groups.for_each([&](const std::vector<int>& members, int reduction) {
      const bool several = members.size() > 1 || reduction >= 0;
      if (several && copy_fused(groups, members, reduction, cloner)) return;
      for (const int m : members) cloner.copy(groups.node(m).output(0));
      if (reduction >= 0) cloner.copy(groups.node(reduction).output(0));
    });
  };
  return clone_program(module.program, options);
}

}  // namespace weft
