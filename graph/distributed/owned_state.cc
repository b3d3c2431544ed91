#include "weft/graph/distributed/owned_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/world/exchange.h"
#include "weft/graph/ir/graph.h"
#include "weft/ops/reductions/reduce_blocks.h"

namespace weft {
namespace {

constexpr int kStateChannel = 2;

std::span<std::byte> bytes_of(Tensor& whole, std::int64_t begin, std::int64_t end) {
  const std::size_t size = dtype_size(whole.dtype());
  return std::span(whole.mutable_raw(), whole.bytes())
      .subspan(static_cast<std::size_t>(begin) * size,
               static_cast<std::size_t>(end - begin) * size);
}

std::span<const std::byte> bytes_of(const Tensor& piece) { return {piece.raw(), piece.bytes()}; }

// Returns a flat copy of elements [begin, end) of a tensor.
Tensor copy_range(const Tensor& whole, std::int64_t begin, std::int64_t end) {
  const std::size_t size = dtype_size(whole.dtype());
  Tensor piece = Tensor::empty(whole.dtype(), {end - begin});
  if (piece.bytes() > 0) {
    std::memcpy(piece.mutable_raw(), whole.raw() + static_cast<std::size_t>(begin) * size,
                piece.bytes());
  }
  return piece;
}

// Transfers to and from all other ranks. Start all transfers before waiting for any of them.
class Transfers {
 public:
  Transfers(const World& world, int channel) : world_(world), channel_(channel) {}
  /// Sends to rank `only`, or to all ranks if it is -1.
  void send(int only, std::span<const std::byte> bytes) {
    if (bytes.empty() || only == world_.rank()) return;
    if (only < 0) return start_broadcast(world_, channel_, bytes, open_);
    open_.push_back(world_.transport()->send(only, channel_, bytes));
  }
  /// Receives from a rank that sends to `only`, or to all ranks.
  void receive(int only, int from, std::span<std::byte> bytes) {
    if (bytes.empty()) return;
    open_.push_back(only < 0 ? receive_broadcast(world_, channel_, from, bytes, open_)
                             : world_.transport()->receive(from, channel_, bytes));
  }
  void wait() {
    for (const Transfer& t : open_) world_.transport()->wait(t);
    open_.clear();
  }

 private:
  const World& world_;
  const int channel_;
  std::vector<Transfer> open_;
};

}  // namespace

OwnedState::Partitions OwnedState::partitions_of(const OwnedStep& step, const Graph& graph) {
  Partitions partitions;
  for (std::size_t u = 0; u < step.units.size(); ++u) {
    for (const std::string& name : step.units[u].state) {
      const VariableInfo& info = graph.find_variable(name).info();
      Partition& cut = partitions[name];
      cut.kind = info.kind;
      cut.type = info.type;
      cut.flat = step.units[u].cut;
      for (const std::vector<OwnedPiece>& of_rank : step.pieces) {
        Range& range = cut.ranges.emplace_back();
        for (const OwnedPiece& piece : of_rank) {
          if (piece.unit != u) continue;
          range = piece.whole ? Range{0, info.type.shape.numel().constant()}
                              : Range{piece.begin, piece.end};
        }
      }
    }
  }
  return partitions;
}

bool OwnedState::conflicts_with(const OwnedStep& step,
                                const std::vector<Variable>& variables) const {
  if (partitions_.empty() || variables.empty()) return false;
  const Partitions wanted = partitions_of(step, variables[0].graph());
  return std::any_of(variables.begin(), variables.end(), [&](const Variable& v) {
    const auto is = partitions_.find(v.name());
    if (is == partitions_.end()) return false;
    const auto to_be = wanted.find(v.name());
    return to_be == wanted.end() || to_be->second != is->second;
  });
}

void OwnedState::take(const OwnedStep& step, const World& world, const Graph& graph,
                      VariableStore& shared, const StoreAccess::Start& start) {
  if (!copies_.empty()) StoreAccess(shared).erase(std::exchange(copies_, {}));
  std::vector<std::string> taken;
  for (auto& [name, cut] : partitions_of(step, graph)) {
    if (contains(name)) continue;
    take(name, cut, world.rank(), graph, shared, start);
    taken.push_back(name);
    partitions_.emplace(name, std::move(cut));
  }
  if (!taken.empty()) StoreAccess(shared).erase(taken);
}

void OwnedState::take(const std::string& name, const Partition& cut, int rank, const Graph& graph,
                      VariableStore& shared, const StoreAccess::Start& start) {
  const auto [begin, end] = cut.ranges[static_cast<std::size_t>(rank)];
  if (begin == end) return;
  const Sizes sizes = cut.flat ? Sizes{end - begin} : cut.type.shape.constant();
  VariableInfo info = graph.find_variable(name).info();
  VariableStore fresh;
  if (!shared.contains(name)) {
    // A constant initialiser sets all elements to the same value. With other initialisers, elements
    // depend on their position in the whole variable.
    if (info.initializer.kind == Initializer::Kind::constant) {
      info.type.shape = Shape(sizes);
      StoreAccess(pieces_).ensure({{info, sizes}}, start);
      return;
    }
    StoreAccess(fresh).ensure({{info, cut.type.shape.constant()}}, start);
  }
  const Tensor from = (shared.contains(name) ? shared : fresh).tensor(name);
  if (from.dtype() != cut.type.dtype || from.sizes() != cut.type.shape.constant()) {
    throw StateError(fmt::format("variable '{}' is {} in the graph, but {} in the store", name,
                                 cut.type.str(), from.type_str()));
  }
  pieces_.insert(name, cut.kind, cut.flat ? copy_range(from, begin, end) : from.clone());
}

Tensor OwnedState::piece(std::string_view name) const {
  return pieces_.contains(name) ? pieces_.tensor(name) : Tensor();
}

std::vector<VariableStore::NewValue> OwnedState::whole(const World& world, int only) const {
  std::vector<VariableStore::NewValue> values;
  const bool wanted = only < 0 || only == world.rank();
  for (const auto& [name, cut] : partitions_) {
    Tensor whole;
    if (wanted) whole = Tensor::empty(cut.type.dtype, cut.type.shape.constant());
    Transfers transfers(world, kStateChannel);
    Tensor own;
    for (std::size_t r = 0; r < cut.ranges.size(); ++r) {
      const auto [begin, end] = cut.ranges[r];
      if (begin == end) continue;
      if (static_cast<int>(r) == world.rank()) {
        own = pieces_.tensor(name);
        transfers.send(only, bytes_of(own));
        if (wanted && own.bytes() > 0)
          std::memcpy(bytes_of(whole, begin, end).data(), own.raw(), own.bytes());
      } else if (wanted) {
        transfers.receive(only, static_cast<int>(r), bytes_of(whole, begin, end));
      }
    }
    transfers.wait();
    if (wanted) values.push_back({name, cut.kind, std::move(whole)});
  }
  return values;
}

void OwnedState::gather(const World& world, VariableStore& shared) {
  shared.assign(whole(world, -1));
  std::vector<std::string> names;
  for (const auto& [name, cut] : partitions_) names.push_back(name);
  StoreAccess(pieces_).erase(names);
  partitions_.clear();
  copies_.clear();
}

void OwnedState::copy_to_first(const World& world, VariableStore& shared) {
  std::vector<VariableStore::NewValue> values = whole(world, 0);
  for (const VariableStore::NewValue& v : values) copies_.push_back(v.name);
  shared.assign(std::move(values));
}

std::optional<NonFiniteVariable> first_nonfinite(const OwnedState& owned, int rank) {
  for (const auto& [name, cut] : owned.partitions()) {
    const Tensor piece = owned.piece(name);
    if (!piece.defined()) continue;
    const std::optional<std::int64_t> index = first_nonfinite(piece);
    if (!index) continue;
    const std::int64_t begin = cut.ranges[static_cast<std::size_t>(rank)].begin;
    return describe_nonfinite(name, cut.kind, cut.type.shape.constant(), begin + *index,
                              piece.at(*index));
  }
  return {};
}

NamedTensors gather_unit_scalars(const OwnedStep& step, const World& world, const Results& own) {
  std::string bytes;
  for (const auto& [name, tensor] : own)
    bytes.append(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
  const std::vector<std::string> by_rank = world.gather(bytes);
  NamedTensors unit_scalars;
  for (const OwnedStep::UnitScalar& e : step.unit_scalars) {
    unit_scalars.emplace_back(shard_names::unit_scalar(unit_scalars.size()),
                              Tensor::empty(e.type.dtype, e.type.shape.constant()));
  }
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < step.unit_scalars.size(); ++i) {
      for (const OwnedPiece& piece : step.pieces[r]) {
        if (piece.unit != step.unit_scalars[i].unit) continue;
        Tensor& unit_scalar = unit_scalars[i].second;
        // A partitioned unit has one sum per block.
        const std::int64_t first = piece.whole ? 0 : piece.begin / kSumBlock;
        const std::int64_t last =
            piece.whole ? unit_scalar.numel() : (piece.end + kSumBlock - 1) / kSumBlock;
        const std::span<std::byte> place = bytes_of(unit_scalar, first, last);
        if (by_rank[r].size() - at < place.size()) throw WorldError("ranks own different units");
        std::memcpy(place.data(), by_rank[r].data() + at, place.size());
        at += place.size();
      }
    }
  }
  return unit_scalars;
}

}  // namespace weft
