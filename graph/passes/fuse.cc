// Combines elementwise ops with equal shapes into `fused` nodes, which run in one pass over memory.
//
// Groups grow along edges between a producer and its user. A merge saves reading the intermediate
// value, and also writing it unless it has other readers, in which case it becomes a result of the
// group. Merging a producer's group into a user's group creates a cycle if and only if there is
// another path between them through other groups. The search for such a path ends at the user's
// last member or after a fixed number of steps. Therefore values with many or distant users are not
// merged with them (for example an activation and the backward pass, between which another path
// nearly always exists), and the time of the pass is linear, not quadratic, in the size of the
// program.
#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/core/index.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/ops/fusion/tile_program.h"

namespace weft {
namespace {

using Index = std::size_t;
using MemberId = Id<struct MemberTag>;  // index in the program's order
using GroupId = Id<struct GroupTag>;    // initially, every node is a separate group
using Members = std::vector<MemberId>;  // in increasing order

// Maximum number of uses that one search visits. With this limit, training steps of transformers
// and recurrent models are fused into as few nodes as without a limit.
constexpr int kMaxSearch = 128;

bool fusable(const Node& node) {
  // Rematerialised copies are not fused, because they exist to save memory.
  if (node.instance() != 0) return false;
  if (!can_be_step(node.op(), node.attributes(), node.graph().ops())) return false;
  RowRequest row{{}, node.type(0).dtype, 0, node.attributes()};
  for (const Value& v : node.inputs()) {
    if (!v.defined()) return false;
    row.inputs.push_back(v.dtype());
  }
  return static_cast<bool>(node.op().row(row));
}

/// Returns true if the node widens a value that was narrowed to be kept (see bf16_activations.cc).
/// Such a node is merged with its readers only. If it were merged with the producer of the narrow
/// value, the wide value would be kept.
bool widens_kept_value(const Node& node) {
  if (!is(node, "cast") || !is(node.input(0), "cast")) return false;
  const Value narrow = node.input(0), kept = narrow.node().input(0);
  return narrow.dtype() == DType::bf16 && kept.dtype() == DType::f32 &&
         node.type(0).dtype == DType::f32;
}

/// Returns true for a sum, mean, maximum or minimum of f32 or f64 over the last axes.
bool is_trailing_reduction(const Node& node) {
  const std::string& name = node.op().name;
  if (name != "sum" && name != "mean" && name != "max" && name != "min") return false;
  if (node.instance() != 0 || node.graph().ops().find(name) != &node.op()) return false;
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
    nodes_ = IdVector<MemberId, Node*>(consumers.nodes());
    const Index n = nodes_.size();
    for (const MemberId i : nodes_.ids()) index_.emplace(nodes_[i], i);
    users_.resize(n);
    fusable_.resize(n);
    is_root_.resize(n);
    group_of_.resize(n);
    for (const MemberId i : nodes_.ids()) {
      group_of_[i] = members_.push_back({i});
      fusable_[i] = fusable(*nodes_[i]);
      is_root_[i] = consumers.is_root(*nodes_[i]);
      for (const Node* user : consumers.readers(*nodes_[i])) {
        users_[i].push_back(index_.at(user));
      }
    }
    seen_.assign(n, 0);
    grow();
    attach_reductions();
    sort_topologically();
  }

  /// Number of nodes, uses and groups that were visited to find the groups.
  std::int64_t steps() const { return steps_; }
  /// Calls fn(members, reduction) for each group in topological order, with the members in program
  /// order and the reduction at the end of the group, or an undefined id.
  template <class Fn>
  void for_each(Fn&& fn) const {
    for (const GroupId group : order_) {
      if (members_[group].empty() || ends_in_reduction_[group]) continue;
      const auto reduced = reduced_group_.find(group);
      if (reduced == reduced_group_.end()) {
        fn(members_[group], MemberId());
      } else {  // a reduction is the only member of its group
        fn(members_[reduced->second], members_[group].front());
      }
    }
  }
  Node& node(MemberId i) const { return *nodes_[i]; }
  /// Returns the values that the members read but do not produce, in order of first use.
  std::vector<Value> inputs(const Members& members) const {
    std::vector<Value> result;
    for (const MemberId m : members) {
      for (const Value& v : node(m).inputs()) {
        if (contains(members, index_.at(v.node_pointer()))) continue;
        if (std::find(result.begin(), result.end(), v) == result.end()) result.push_back(v);
      }
    }
    return result;
  }
  /// Returns the members that have readers outside the group or are roots.
  Members results(const Members& members) const {
    Members result;
    for (const MemberId m : members) {
      const auto outside = [&](MemberId user) { return !contains(members, user); };
      if (is_root_[m] || std::any_of(users_[m].begin(), users_[m].end(), outside)) {
        result.push_back(m);
      }
    }
    return result;
  }

 private:
  static bool contains(const Members& members, MemberId i) {
    return std::binary_search(members.begin(), members.end(), i);
  }

  void grow() {
    for (const MemberId i : nodes_.ids()) {
      if (!fusable_[i] || widens_kept_value(*nodes_[i])) continue;
      for (const Value& v : nodes_[i]->inputs()) {
        const MemberId p = index_.at(v.node_pointer());
        if (fusable_[p] && v.shape() == nodes_[i]->type(0).shape) {
          try_merge(group_of_[p], group_of_[i]);
        }
      }
    }
  }

  /// Attaches a reduction to a group if the reduction reads the group's only result, so that this
  /// result is never stored.
  void attach_reductions() {
    ends_in_reduction_.assign(nodes_.size(), 0);
    for (const MemberId i : nodes_.ids()) {
      if (!is_trailing_reduction(*nodes_[i])) continue;
      const MemberId p = index_.at(nodes_[i]->input(0).node_pointer());
      if (!fusable_[p] || is_root_[p] || users_[p].size() != 1) continue;
      const GroupId group = group_of_[p];
      if (results(members_[group]).size() != 1) continue;
      ends_in_reduction_[group] = 1;
      reduced_group_.emplace(group_of_[i], group);
    }
  }

  void try_merge(GroupId producer, GroupId user) {
    if (producer == user) return;
    const Members& from = members_[producer];
    const Members& to = members_[user];
    if (from.size() + to.size() > TileProgram::kMaxSteps) return;
    Members both(from.size() + to.size());
    std::merge(from.begin(), from.end(), to.begin(), to.end(), both.begin());
    steps_ += static_cast<std::int64_t>(both.size());
    if (inputs(both).size() > TileProgram::kMaxInputs) return;
    if (results(both).size() > TileProgram::kMaxResults) return;
    if (has_other_path(producer, user)) return;
    for (const MemberId m : from) group_of_[m] = user;
    members_[user] = std::move(both);
    members_[producer].clear();
  }

  /// Returns true if there is a path from `producer` through other groups to `user`, or if a search
  /// of kMaxSearch uses cannot rule it out.
  bool has_other_path(GroupId producer, GroupId user) {
    ++stamp_;
    int left = kMaxSearch;
    bool found = false;
    const MemberId end = members_[user].back();
    std::vector<GroupId> stack;
    const auto visit = [&](GroupId group) {
      for (const MemberId m : members_[group]) {
        for (const MemberId u : users_[m]) {
          if (--left < 0) return;
          const GroupId next = group_of_[u];
          if (next == user) found = found || group != producer;
          if (next == user || next == group || next == producer) continue;
          // A group that begins after the last member of the user cannot lead to it.
          if (members_[next].front() > end) continue;
          if (seen_[next] == stamp_) continue;
          seen_[next] = stamp_;
          stack.push_back(next);
        }
      }
    };
    visit(producer);
    while (!stack.empty() && !found && left >= 0) {
      const GroupId group = stack.back();
      stack.pop_back();
      visit(group);
    }
    steps_ += kMaxSearch - left;
    return found || left < 0;
  }

  /// Sorts the groups topologically; among ready groups, the one with the earliest last member
  /// comes first.
  void sort_topologically() {
    IdVector<GroupId, int> unsorted_reads(members_.size());  // number of reads from unsorted groups
    const auto for_each_reader = [&](GroupId group, auto&& fn) {
      for (const MemberId m : members_[group]) {
        for (const MemberId u : users_[m]) {
          const GroupId reader = group_of_[u];
          if (reader != group) fn(reader);
          ++steps_;
        }
      }
    };
    using Entry = std::pair<MemberId, GroupId>;  // last member, group
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (const GroupId g : members_.ids()) {
      for_each_reader(g, [&](GroupId reader) { ++unsorted_reads[reader]; });
    }
    const auto add = [&](GroupId group) {
      const auto& members = members_[group];
      if (!members.empty()) ready.emplace(members.back(), group);
    };
    for (const GroupId g : members_.ids()) {
      if (unsorted_reads[g] == 0) add(g);
    }
    order_.clear();
    while (!ready.empty()) {
      const GroupId group = ready.top().second;
      ready.pop();
      order_.push_back(group);
      for_each_reader(group, [&](GroupId reader) {
        if (--unsorted_reads[reader] == 0) add(reader);
      });
    }
  }

  IdVector<MemberId, Node*> nodes_;
  std::unordered_map<const Node*, MemberId> index_;
  IdVector<MemberId, std::vector<MemberId>> users_;
  IdVector<MemberId, char> fusable_, is_root_;
  IdVector<MemberId, GroupId> group_of_;
  IdVector<GroupId, Members> members_;
  IdVector<GroupId, char> ends_in_reduction_;
  /// Maps the group of a reduction to the group that the reduction is attached to.
  std::unordered_map<GroupId, GroupId> reduced_group_;
  std::vector<GroupId> order_;
  IdVector<GroupId, int> seen_;  // the last search that visited the group
  int stamp_ = 0;
  std::int64_t steps_ = 0;
};

/// Returns the group as a tile program on `inputs`.
TileProgram make_program(const Groups& groups, const Members& members,
                         const std::vector<Value>& inputs, const Members& results) {
  TileProgram program;
  program.inputs = static_cast<int>(inputs.size());
  const auto value_of = [&](const Value& v) {
    const auto input = std::find(inputs.begin(), inputs.end(), v);
    if (input != inputs.end()) return static_cast<int>(input - inputs.begin());
    const auto member = std::find_if(members.begin(), members.end(), [&](MemberId m) {
      return &groups.node(m) == v.node_pointer();
    });
    return program.inputs + static_cast<int>(member - members.begin());
  };
  for (const MemberId m : members) {
    const Node& node = groups.node(m);
    TileStep step{&node.op(), node.attributes(), {}};
    for (const Value& v : node.inputs()) step.operands.push_back(value_of(v));
    program.steps.push_back(std::move(step));
  }
  for (const MemberId r : results) program.results.push_back(value_of(groups.node(r).output(0)));
  return program;
}

/// Replaces the members, and the reduction at their end (if any), with one node. Returns false if
/// this would change the types of results.
bool copy_fused(const Groups& groups, const Members& members, MemberId reduction, Cloner& cloner) {
  const std::vector<Value> inputs = groups.inputs(members);
  Members results = groups.results(members);
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
      if (!(made[program.results[r]] == groups.node(results[r]).type(0))) {
        return false;
      }
    }
  } catch (const Error&) {
    return false;
  }
  Attributes attributes{{"program", program.str()}};
  const Node& last = groups.node(reduction.defined() ? reduction : members.back());
  if (reduction.defined()) {
    results = {reduction};
    attributes.set("reduction", last.op().name);
    attributes.set("axes", last.attributes().integers("axes"));
    attributes.set("keepdims", last.attributes().flag("keepdims"));
  }
  const Index before = target.node_count();
  Node& fused = target.apply(reduction.defined() ? "fused_reduce" : "fused", std::move(operands),
                             std::move(attributes), last.graph().location(last));
  if (target.node_count() != before) target.copy_source_info(last, fused);
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
    groups.for_each([&](const Members& members, MemberId reduction) {
      const bool several = members.size() > 1 || reduction.defined();
      if (several && copy_fused(groups, members, reduction, cloner)) return;
      for (const MemberId m : members) cloner.copy(groups.node(m).output(0));
      if (reduction.defined()) cloner.copy(groups.node(reduction).output(0));
    });
  };
  return clone_program(module.program, options);
}

}  // namespace weft
