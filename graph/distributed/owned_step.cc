#include "weft/graph/distributed/owned_step.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "weft/graph/distributed/owned_units.h"
#include "weft/ops/reductions/reduce_blocks.h"

namespace weft {
namespace {

// Names of the inputs and variables that the stages and `carry` read.
std::unordered_set<std::string> read_by_shards(const ShardedProgram& parts) {
  std::unordered_set<std::string> names;
  const auto add = [&](const Program& program) {
    for (const Value& v : program.inputs()) names.insert(v.node().attributes().text("name"));
    for (const Variable& v : program.variables()) names.insert(v.name());
  };
  for (const ShardedProgram::Stage& stage : parts.stages) add(stage.module.program);
  add(parts.carry.program);
  return names;
}

OwnedUnits find_units(const ShardedProgram& parts) {
  const std::unordered_set<std::string> read = read_by_shards(parts);
  return {parts.step.program, [&](std::size_t i) { return !read.contains(shard_names::sum(i)); },
          [&](const Variable& v) { return !read.contains(v.name()); }};
}

class Maker {
 public:
  Maker(const ShardedProgram& parts, int rank, int ranks)
      : program_(parts.step.program), rank_(rank), ranks_(ranks), found_(find_units(parts)) {}

  OwnedStep make() {
    OwnedStep result;
    for (const OwnedUnit& unit : found_.units()) add(unit, result);
    if (result.empty()) return result;
    for (const OwnedUnits::UnitScalar& e : found_.unit_scalars())
      result.unit_scalars.push_back({e.unit, e.value.type()});
    share(result);
    pieces_ = &result.pieces[static_cast<std::size_t>(rank_)];
    result.compute_unit_scalars = compute_unit_scalars();
    result.step = step();
    return result;
  }

 private:
  void add(const OwnedUnit& unit, OwnedStep& result) {
    OwnedStep::Unit& added = result.units.emplace_back();
    added.sums = unit.sums;
    added.cut = unit.range > 0;
    added.elements = unit.range;
    for (const Variable& v : unit.state) added.state.push_back(v.name());
    for (const Variable& v : unit.parameters) added.parameters.push_back(v.name());
    if (added.cut) {
      for (const Variable& v : reads(unit)) added.reads.push_back(v.name());
    }
    result.sums.insert(result.sums.end(), unit.sums.begin(), unit.sums.end());
  }

  const ValueType& type_of_sum(std::size_t i) const {
    return program_.graph()->find_input(shard_names::sum(i)).type();
  }

  // A position at which the range of a rank may end.
  struct Place {
    std::size_t byte, unit;
    std::int64_t element;
  };

  std::vector<Place> places_of(const OwnedStep& step) const {
    std::vector<Place> places;
    std::size_t bytes = 0;
    for (std::size_t u = 0; u < step.units.size(); ++u) {
      const OwnedStep::Unit& unit = step.units[u];
      const std::size_t size = dtype_size(type_of_sum(unit.sums[0]).dtype);
      places.push_back({bytes, u, 0});
      for (std::int64_t e = kSumBlock; e < unit.elements; e += kSumBlock)
        places.push_back({bytes + static_cast<std::size_t>(e) * size, u, e});
      for (const std::size_t i : unit.sums) bytes += bytes_of_sum(type_of_sum(i));
    }
    places.push_back({bytes, step.units.size(), 0});
    return places;
  }

  // Divides the units into sections and assigns a contiguous run of each section to every rank. All
  // ranks can then send data as soon as some of the gradients are complete, and the start of the
  // next step does not have to wait for the parameters of a single rank.
  void share(OwnedStep& result) const {
    const std::vector<Place> places = places_of(result);
    const auto ranks = static_cast<std::size_t>(ranks_);
    // Shorter runs would cause many small messages, and the number of channels is limited.
    constexpr std::size_t kMaxSections = 16, kMaxRuns = 4096, kMinRunBytes = std::size_t{1} << 20;
    const std::size_t sections = std::clamp(kMaxRuns / ranks, std::size_t{1}, kMaxSections);
    const std::size_t least = std::max(places.back().byte / sections, kMinRunBytes * ranks);
    result.pieces.resize(ranks);
    std::vector<std::size_t> owned(ranks);  // bytes by rank
    std::size_t first = 0;
    for (std::size_t last = 1; last < places.size(); ++last) {
      const bool whole = places[last].element == 0, end = last + 1 == places.size();
      if (!whole || (!end && places[last].byte - places[first].byte < least)) continue;
      assign_section(std::span(places).subspan(first, last - first + 1), owned, result);
      first = last;
    }
  }

  // Distributes a section, which consists of the units between the first and the last position,
  // over the ranks. The total bytes of each rank so far are as equal as the positions allow.
  void assign_section(std::span<const Place> places, std::vector<std::size_t>& owned,
                      OwnedStep& result) const {
    const Place* from = &places.front();
    const std::size_t all = places.back().byte;
    for (std::size_t rank = 0; rank < owned.size(); ++rank) {
      const std::size_t share = all / owned.size();
      const std::size_t wanted = from->byte + share - std::min(share, owned[rank]);
      const auto after =
          std::lower_bound(places.begin(), places.end(), wanted,
                           [](const Place& p, std::size_t byte) { return p.byte < byte; });
      const Place* to = after == places.end() ? &places.back() : &*after;
      const bool nearer_before =
          to > from && wanted <= to->byte && wanted - std::prev(to)->byte < to->byte - wanted;
      if (nearer_before) --to;
      if (rank + 1 == owned.size()) to = &places.back();
      to = std::max(from, to);
      owned[rank] += to->byte - from->byte;
      own(*from, *to, result.units, result.pieces[rank]);
      from = to;
    }
  }

  static void own(const Place& from, const Place& to, const std::vector<OwnedStep::Unit>& units,
                  std::vector<OwnedPiece>& pieces) {
    for (std::size_t u = from.unit; u < units.size() && u <= to.unit; ++u) {
      const OwnedStep::Unit& unit = units[u];
      const std::int64_t begin = u == from.unit ? from.element : 0;
      const std::int64_t end = u == to.unit ? to.element : unit.elements;
      if (unit.cut ? begin < end : u < to.unit)
        pieces.push_back({.unit = u, .whole = !unit.cut, .begin = begin, .end = end});
    }
  }

  Module empty_module() const {
    Module module{empty_copy(*program_.graph()), Program(program_.name())};
    module.program.take_options(program_);
    return module;
  }

  // Replaces the complete sums, state and parameters with their owned ranges.
  void set_leaves(const OwnedPiece& piece, Cloner& cloner) const {
    if (piece.whole) return;
    const OwnedUnit& unit = found_.units()[piece.unit];
    Graph& target = cloner.target();
    const Dim n = piece.end - piece.begin;
    const auto flat = [&](DType dtype) { return ValueType{dtype, {n}}; };
    const std::string sum = shard_names::sum(unit.sums[0]);
    const Value whole = program_.graph()->find_input(sum);
    cloner.set(whole, target.input(sum, flat(whole.dtype()), {}));
    for (const Variable& v : unit.state) {
      const VariableInfo& info = v.info();
      cloner.set(v.value(), target.variable(info.name, flat(v.dtype()),
                                            {.kind = info.kind,
                                             .trainable = info.trainable,
                                             .initializer = info.initializer},
                                            {}));
    }
    for (const Variable& v : reads(unit))
      cloner.set(v.value(), target.input(shard_names::owned(v.name()), flat(v.dtype()), {}));
  }

  // Returns the variables that a partitioned unit reads in addition to its state: parameters that
  // it updates, and others.
  std::vector<Variable> reads(const OwnedUnit& unit) const {
    std::vector<Variable> found;
    for (Node* node : reachable_nodes(new_values(unit))) {
      const Variable v(node->output(0));
      if (node->op().name != "variable" || v.shape().rank() == 0) continue;
      if (std::find(unit.state.begin(), unit.state.end(), v) == unit.state.end())
        found.push_back(v);
    }
    return found;
  }

  std::vector<Value> new_values(const OwnedUnit& unit) const {
    std::vector<Value> values;
    for (const auto& [variable, value] : program_.given_updates()) {
      const auto is_this = [&v = variable](const Variable& other) { return other == v; };
      if (std::any_of(unit.state.begin(), unit.state.end(), is_this) ||
          std::any_of(unit.parameters.begin(), unit.parameters.end(), is_this))
        values.push_back(value);
    }
    return values;
  }

  Module compute_unit_scalars() const {
    Module result = empty_module();
    Cloner cloner(*result.graph);
    for (const OwnedPiece& piece : *pieces_) set_leaves(piece, cloner);
    for (std::size_t i = 0; i < found_.unit_scalars().size(); ++i) {
      const OwnedUnits::UnitScalar& e = found_.unit_scalars()[i];
      if (!owns(e.unit)) continue;
      result.program.output(shard_names::unit_scalar(i), cloner.copy(e.value), {});
    }
    return result;
  }

  Module step() const {
    Module result = empty_module();
    Graph& target = *result.graph;
    Cloner cloner(target);
    for (std::size_t i = 0; i < found_.unit_scalars().size(); ++i) {
      const Value unit_scalar = found_.unit_scalars()[i].value;
      cloner.set(unit_scalar, target.input(shard_names::unit_scalar(i), unit_scalar.type(), {}));
    }
    for (const auto& [name, value] : program_.outputs())
      result.program.output(name, cloner.copy(value), {});
    std::unordered_map<Value, std::size_t, ValueHash> unit_of, parameter_of;
    for (std::size_t u = 0; u < found_.units().size(); ++u) {
      for (const Variable& v : found_.units()[u].state) unit_of.emplace(v.value(), u);
      for (const Variable& v : found_.units()[u].parameters) parameter_of.emplace(v.value(), u);
    }
    for (const OwnedPiece& piece : *pieces_) set_leaves(piece, cloner);
    for (const auto& [variable, value] : program_.given_updates()) {
      if (const auto parameter = parameter_of.find(variable.value());
          parameter != parameter_of.end()) {
        if (owns(parameter->second))
          result.program.output(shard_names::updated(variable.name()), cloner.copy(value), {});
        continue;
      }
      const auto state = unit_of.find(variable.value());
      if (state != unit_of.end() && !owns(state->second)) continue;
      const Variable copied(cloner.copy(variable.value()));
      result.program.update(copied, cloner.copy(value), {});
    }
    return result;
  }

  bool owns(std::size_t unit) const {
    return std::any_of(pieces_->begin(), pieces_->end(),
                       [unit](const OwnedPiece& p) { return p.unit == unit; });
  }

  const Program& program_;
  const int rank_, ranks_;
  const OwnedUnits found_;
  const std::vector<OwnedPiece>* pieces_ = nullptr;
};

}  // namespace

OwnedStep own_step(const ShardedProgram& parts, int rank, int ranks) {
  return ranks == 1 ? OwnedStep{} : Maker(parts, rank, ranks).make();
}

}  // namespace weft
