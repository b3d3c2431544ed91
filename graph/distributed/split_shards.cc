#include "weft/graph/distributed/split_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include "weft/core/error.h"
#include "weft/graph/distributed/per_shard.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/random/random.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/ir/draws.h"
#include "weft/ops/reductions/reduce_blocks.h"

namespace weft {

namespace {

// Parses the number after a prefix.
std::optional<std::size_t> number_in(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::size_t i = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), i);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return i;
}

constexpr std::string_view kSum = "shards.sum.";

}  // namespace

namespace shard_names {
std::string key(const std::string& name) { return "shards.key." + name; }
std::string state(const std::string& name) { return "shards.state." + name; }
std::string sum(std::size_t i) { return fmt::format("{}{}", kSum, i); }
std::optional<std::size_t> number_of_sum(std::string_view name) { return number_in(name, kSum); }
std::string rows(std::size_t i) { return fmt::format("shards.rows.{}", i); }
std::string unit_scalar(std::size_t i) { return fmt::format("shards.exit.{}", i); }
std::string owned(const std::string& name) { return "shards.owned." + name; }
std::string updated(const std::string& name) { return "shards.updated." + name; }
std::string statistic(std::size_t i) { return fmt::format("shards.statistic.{}", i); }
}  // namespace shard_names

namespace {

// Returns true for a sum over all elements of a value that is larger than a block.
bool is_large_sum(const Node& node) {
  const DType dtype = node.type(0).dtype;
  if (node.op().name != "sum" || (dtype != DType::f32 && dtype != DType::f64)) return false;
  const Shape& shape = node.inputs()[0].shape();
  return shape.is_constant() && shape.numel().constant() > kSumBlock &&
         std::ssize(node.attributes().integers("axes")) == shape.rank();
}

// Returns {y, f} if x is y * f with a scalar f, otherwise {x}.
std::vector<Value> factors_of(const Value& x) {
  if (x.node().op().name == "mul") {
    const Value a = x.node().input(0), b = x.node().input(1);
    if (b.rank() == 0) return {a, b};
    if (a.rank() == 0) return {b, a};
  }
  return {x};
}

// Computes a sum block by block. A rank that holds a part of x sums its blocks, and the sum over
// all blocks is bit-identical to the result on a single rank that holds all of x. A scalar factor,
// which turns sums of gradients into means, is applied inside block_sums, so the scaled gradients
// take no memory; the update multiplies by the factor again.
Value sum_of_blocks(const Node& sum, const Value& x) {
  const bool squares = x.node().op().name == "square";
  const Value blocks = x.graph()
                           .apply("block_sums", factors_of(squares ? x.node().input(0) : x),
                                  {{"squares", squares}}, {})
                           .output(0);
  const Value total = weft::sum(blocks);
  return reshape(cast(total, sum.type(0).dtype), sum.type(0).shape);
}

// An update that runs once per shard.
struct CarriedUpdate {
  Variable variable;
  Value value;
};

class Splitter {
 public:
  explicit Splitter(const Program& program)
      : program_(program), nodes_(program.nodes()), parts_(nodes_) {
    for (const auto* joins : {&parts_.sums(), &parts_.concats()}) {
      for (std::size_t i = 0; i < joins->size(); ++i) numbers_.emplace((*joins)[i], i);
    }
  }

  ShardedProgram split() {
    check_nodes();
    sort_updates();
    find_statistics();
    find_levels();
    ShardedProgram result{.carry = carry(), .step = step()};
    for (const CarriedUpdate& u : carried_) result.states.push_back(u.variable.name());
    for (int level = 0; level < levels_; ++level) result.stages.push_back(stage(level));
    result.keys = keys_;
    return result;
  }

 private:
  const Graph& source() const { return *program_.graph(); }

  [[noreturn]] void fail(const std::string& what, const Node& node) const {
    throw GraphError(fmt::format("program '{}' has {} shards: {}\n  {}", program_.name(),
                                 program_.shards().count, what, source().where(node)));
  }

  void check_nodes() const {
    for (const Node* sum : parts_.sums()) {
      const ValueType& type = sum->type(0);
      if (type.shape.is_constant()) continue;
      fail(fmt::format("shard_sum of {}, whose sizes may differ by shard: sum over the batch "
                       "first",
                       type.str()),
           *sum);
    }
    for (Node* concat : parts_.concats()) check_concat(*concat);
    for (const Node* node : nodes_) {
      if (node->op().name == "variable" &&
          source().variable_info(*node).kind == VariableKind::cache) {
        fail("a program with shards cannot use a cache, because caches exist once, not per shard",
             *node);
      }
      reject_collective(*node, *node);
      check_bodies(*node, *node);
    }
    for (const auto& [name, value] : program_.outputs()) {
      if (parts_.varies(value)) reject_varying(fmt::format("output '{}'", name), value);
    }
  }

  void reject_collective(const Node& node, const Node& outermost) const {
    if (!node.op().has(Trait::collective)) return;
    fail(fmt::format("{} exchanges values between ranks explicitly, so it can only be used in "
                     "programs without shards",
                     node.op().name),
         outermost);
  }

  void check_concat(Node& node) const {
    const ValueType& x = node.inputs()[0].type();
    for (int axis = 1; axis < x.shape.rank(); ++axis) {
      if (x.shape[axis].is_constant()) continue;
      fail(fmt::format("shard_concat of {}, whose rows may differ in size by shard", x.str()),
           node);
    }
    // The symbol for the rows of all shards must not be the symbol of a shard's size.
    const SymbolPtr rows = node.attributes().dim("rows").as_symbol();
    const auto shows = [&](const Node* other) {
      if (other->op().name != "input" && other->op().name != "variable") return false;
      const Shape& shape = other->type(0).shape;
      return std::any_of(shape.begin(), shape.end(), [&](const Dim& d) {
        const std::vector<SymbolPtr> all = d.symbols();
        return std::find(all.begin(), all.end(), rows) != all.end();
      });
    };
    if (!rows || std::any_of(nodes_.begin(), nodes_.end(), shows)) {
      fail(fmt::format(
               "the number of rows of a shard_concat is {}; it must be a symbol that is not a "
               "size of an input or a variable",
               node.attributes().dim("rows").str()),
           node);
    }
    if (parts_.feeds_join(node.output(0)))
      fail("a value that is computed per shard depends on the result of shard_concat", node);
  }

  // Each body contains the definitions of the functions that it calls, so the recursion depth is
  // the nesting depth of the definitions. `outermost` is the node of the program that contains the
  // body.
  void check_bodies(const Node& node, const Node& outermost) const {
    for (const std::string& body : node.op().bodies) {
      const Function& function = node.graph().function(node.attributes().text(body));
      for (const Node* inside : reachable_nodes(function.outputs)) {
        check_bodies(*inside, outermost);
        reject_collective(*inside, outermost);
        if (!joins_shards(*inside)) continue;
        fail(fmt::format("a {} is inside function '{}'; move it outside of functions and loops",
                         inside->op().name, function.name),
             outermost);
      }
    }
  }

  [[noreturn]] void reject_varying(const std::string& what, Value value) const {
    fail(fmt::format("{} differs by shard; combine the values of all shards with shard_mean(sum, "
                     "count), with shard_mean(x) if all shards have equal weights, or with "
                     "shard_sum(x)",
                     what),
         value.node());
  }

  // Separates updates that run once per step from updates that run once per shard.
  void sort_updates() {
    const std::size_t given = program_.given_updates().size();
    std::size_t i = 0;
    for (const auto& [variable, value] : program_.updates()) {
      const bool attached = i++ >= given;
      if (!parts_.varies(value)) {
        updates_.add(variable, value);
      } else if (attached) {
        carried_.push_back({variable, value});
      } else {
        reject_varying(fmt::format("the new value of '{}'", variable.name()), value);
      }
    }
  }

  // Finds the per-shard values that state updates read: the last values that do not depend on the
  // state and either differ by shard or depend on random draws (every shard draws different
  // numbers).
  void find_statistics() {
    std::unordered_set<const Node*> states;
    for (const CarriedUpdate& update : carried_) states.insert(&update.variable.value().node());
    for (const CarriedUpdate& update : carried_) {
      std::unordered_set<const Node*> depends = states;
      const std::vector<Node*> nodes = reachable_nodes({update.value});
      for (const Node* n : nodes) {
        const auto& in = n->inputs();
        if (std::any_of(in.begin(), in.end(), [&](const Value& v) {
              return v.defined() && depends.contains(v.node_pointer());
            })) {
          depends.insert(n);
          if (joins_shards(*n) || draws(*n)) {
            fail(fmt::format("the new value of '{}' depends on its old value through a {}, so it "
                             "cannot be updated shard by shard",
                             update.variable.name(), n->op().name),
                 *n);
          }
        }
      }
      const auto note = [&](const Value& v) {
        if (!v.defined() || depends.contains(v.node_pointer())) return;
        if (parts_.varies(v) || parts_.drawn(v)) add(v);
      };
      note(update.value);
      for (const Node* n : nodes) {
        if (!depends.contains(n)) continue;
        for (const Value& v : n->inputs()) note(v);
      }
    }
  }

  void add(Value statistic) {
    if (std::find(statistics_.begin(), statistics_.end(), statistic) != statistics_.end()) return;
    if (!statistic.shape().is_constant()) {
      fail(fmt::format("a state update reads {}, whose sizes may differ by shard",
                       statistic.type().str()),
           statistic.node());
    }
    statistics_.push_back(statistic);
  }

  void find_levels() {
    for (const auto* joins : {&parts_.sums(), &parts_.concats()}) {
      for (const Node* join : *joins)
        levels_ = std::max(levels_, parts_.level(join->inputs()[0]) + 1);
    }
    for (const Value& v : statistics_) levels_ = std::max(levels_, parts_.level(v) + 1);
    for (const Node* node : reachable_nodes(statistics_)) read_by_statistics_.insert(node);
  }

  // A join that only the step reads belongs to the last stage, where most of its operands are
  // computed anyway. For example, losses are computed there, and the earlier stages only compute
  // their counts.
  int stage_of(Node& join) const {
    const bool read_by_shards =
        parts_.feeds_join(join.output(0)) || read_by_statistics_.contains(&join);
    return read_by_shards ? parts_.level(join.inputs()[0]) : levels_ - 1;
  }

  Module empty_module() const {
    Module module{std::make_unique<Graph>(source().shared_ops()), Program(program_.name())};
    module.program.take_options(program_);
    module.graph->share_symbols(source());
    for (const DimEquation& e : source().requirements()) {
      // Skip requirements on the total number of rows of all shards.
      if (!has_rows(e.left) && !has_rows(e.right)) module.graph->require(e, {});
    }
    return module;
  }

  bool has_rows(const Dim& dim) const {
    const std::vector<SymbolPtr> symbols = dim.symbols();
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](const SymbolPtr& s) { return parts_.of_all_shards(Dim(s)); });
  }

  // Returns a cloner for a part: joins of shards become inputs, and attached updates are dropped.
  Cloner cloner_into(Graph& part, bool is_step = false) const {
    return {part,
            {.rewrite = [this, is_step](const Node& node, const std::vector<Value>& inputs,
                                        Graph& target) -> std::vector<Value> {
              if (node.op().name == "with_update") return {inputs[0]};
              if (is_step && is_large_sum(node)) return {sum_of_blocks(node, inputs[0])};
              if (!joins_shards(node)) return {};
              const std::size_t i = numbers_.at(&node);
              const std::string name =
                  is_shard_sum(node) ? shard_names::sum(i) : shard_names::rows(i);
              return {target.input(name, node.type(0), {})};
            }}};
  }

  ShardedProgram::Stage stage(int level) {
    ShardedProgram::Stage result{.module = empty_module()};
    Cloner cloner = cloner_into(*result.module.graph);
    fold_keys(cloner);
    const auto give = [&](std::string name, Value value) {
      result.module.program.output(name, cloner.copy(value), {});
    };
    for (std::size_t i = 0; i < parts_.sums().size(); ++i) {
      const Value operand = parts_.sums()[i]->inputs()[0];
      if (stage_of(*parts_.sums()[i]) != level) continue;
      result.sums.push_back(i);
      give(shard_names::sum(i), operand);
    }
    for (std::size_t i = 0; i < parts_.concats().size(); ++i) {
      if (stage_of(*parts_.concats()[i]) != level) continue;
      result.rows.push_back(i);
      give(shard_names::rows(i), parts_.concats()[i]->inputs()[0]);
    }
    for (std::size_t i = 0; i < statistics_.size(); ++i) {
      if (parts_.level(statistics_[i]) != level) continue;
      result.statistics.push_back(i);
      give(shard_names::statistic(i), statistics_[i]);
    }
    return result;
  }

  // Folds the shard's number into the random keys, so that every shard draws different numbers.
  void fold_keys(Cloner& cloner) {
    Graph& target = cloner.target();
    keys_.clear();
    for (Node* node : nodes_) {
      if (node->op().name != "variable") continue;
      const VariableInfo& info = source().variable_info(*node);
      if (info.kind != VariableKind::key) continue;
      keys_.push_back(info.name);
      Value index = target.find_input(shard_names::kIndex);
      if (!index.defined()) index = target.input(shard_names::kIndex, ValueType{DType::i64}, {});
      const Value key = target.input(shard_names::key(info.name), info.type, {});
      cloner.set(node->output(0), fold_key(key, index));
    }
  }

  Module carry() const {
    Module result = empty_module();
    Graph& target = *result.graph;
    Cloner cloner = cloner_into(target);
    for (std::size_t i = 0; i < statistics_.size(); ++i) {
      cloner.set(statistics_[i],
                 target.input(shard_names::statistic(i), statistics_[i].type(), {}));
    }
    for (const CarriedUpdate& u : carried_) {
      const std::string name = shard_names::state(u.variable.name());
      cloner.set(u.variable.value(), target.input(name, u.variable.value().type(), {}));
    }
    for (const CarriedUpdate& u : carried_) {
      result.program.output(shard_names::state(u.variable.name()), cloner.copy(u.value), {});
    }
    return result;
  }

  Module step() const {
    Module result = empty_module();
    Graph& target = *result.graph;
    Cloner cloner = cloner_into(target, true);
    for (const auto& [name, value] : program_.outputs()) {
      result.program.output(name, cloner.copy(value), {});
    }
    for (const auto& [variable, value] : updates_) {
      const Variable copied(cloner.copy(variable.value()));
      result.program.update(copied, cloner.copy(value), {});
    }
    for (const CarriedUpdate& u : carried_) {
      const Variable copied(cloner.copy(u.variable.value()));
      const std::string name = shard_names::state(u.variable.name());
      result.program.update(copied, target.input(name, copied.value().type(), {}), {});
    }
    return result;
  }

  const Program& program_;
  const std::vector<Node*> nodes_;
  const PerShard parts_;
  Updates updates_;
  std::vector<CarriedUpdate> carried_;
  std::vector<Value> statistics_;
  std::unordered_map<const Node*, std::size_t> numbers_;  // indices of sums and concats
  std::unordered_set<const Node*> read_by_statistics_;
  int levels_ = 0;  // number of stages
  std::vector<std::string> keys_;
};

}  // namespace

std::size_t bytes_of_sum(const ValueType& type) {
  return static_cast<std::size_t>(type.shape.numel().constant()) * dtype_size(type.dtype);
}

std::vector<std::string> ShardedProgram::Stage::sum_names() const {
  std::vector<std::string> names;
  for (const std::size_t i : sums) names.push_back(shard_names::sum(i));
  return names;
}

ShardedProgram split_shards(const Program& program) { return Splitter(program).split(); }

}  // namespace weft
