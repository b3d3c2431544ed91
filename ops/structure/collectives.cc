// Ops that all ranks of a world compute together. Sessions check that the number of ranks equals
// the attribute `ranks`. Blocks are slices along the first axis; for other axes, the functions in
// graph/functions/collectives.h first move the axis to the front.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/core/rounding.h"
#include "weft/core/world/exchange.h"
#include "weft/core/world/world.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

constexpr int kChannel = 5;
constexpr std::int64_t kAddChunk = 1 << 16;  // elements

std::int64_t ranks_of(const Attributes& attributes) {
  const std::int64_t ranks = attributes.integer("ranks");
  if (ranks < 1 || ranks > (1 << 20))
    throw ArgumentError(fmt::format("ranks is {}; it must be 1 to 2^20", ranks));
  return ranks;
}

void check_sum_dtype(DType dtype) {
  if (is_integer(dtype) || dtype == DType::f32 || dtype == DType::f64) return;
  throw DTypeError(fmt::format("{} values cannot be summed over ranks; use f32, f64, i64 or i32",
                               dtype_name(dtype)));
}

Dim rows_per_rank(const InferContext& c, std::int64_t ranks) {
  const Dim& rows = c.shape(0)[0];
  if (const std::optional<Dim> part = Dim::try_exact_div(rows, ranks)) return *part;
  throw ShapeError(
      fmt::format("the first axis, {}, cannot be divided into {} equal parts", rows.str(), ranks));
}

std::vector<ValueType> infer_all_reduce(const InferContext& c) {
  ranks_of(c.attributes());
  check_sum_dtype(c.dtype(0));
  return {c.input(0)};
}

std::vector<ValueType> infer_all_gather(const InferContext& c) {
  c.require_min_rank(0, 1, "x");
  Shape shape = c.shape(0);
  shape[0] = shape[0] * Dim(ranks_of(c.attributes()));
  return {{c.dtype(0), shape}};
}

std::vector<ValueType> infer_reduce_scatter(const InferContext& c) {
  c.require_min_rank(0, 1, "x");
  check_sum_dtype(c.dtype(0));
  Shape shape = c.shape(0);
  shape[0] = rows_per_rank(c, ranks_of(c.attributes()));
  return {{c.dtype(0), shape}};
}

std::vector<ValueType> infer_all_to_all(const InferContext& c) {
  c.require_min_rank(0, 1, "x");
  rows_per_rank(c, ranks_of(c.attributes()));
  return {c.input(0)};
}

std::vector<ValueType> infer_broadcast_from(const InferContext& c) {
  const std::int64_t ranks = ranks_of(c.attributes()), root = c.attributes().integer("root");
  if (root < 0 || root >= ranks)
    throw ArgumentError(fmt::format("root is {}, but ranks are 0 to {}", root, ranks - 1));
  return {c.input(0)};
}

std::vector<ValueType> infer_send_recv(const InferContext& c) {
  const std::int64_t ranks = ranks_of(c.attributes());
  const std::vector<std::int64_t>& from = c.attributes().integers("from");
  const std::vector<std::int64_t>& to = c.attributes().integers("to");
  if (from.size() != to.size()) {
    throw ArgumentError(
        fmt::format("`from` has {} ranks, but `to` has {}", from.size(), to.size()));
  }
  for (const auto* list : {&from, &to}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::int64_t rank = (*list)[i];
      if (rank < 0 || rank >= ranks)
        throw ArgumentError(
            fmt::format("rank {} is out of range: ranks are 0 to {}", rank, ranks - 1));
      if (std::find(list->begin(), list->begin() + static_cast<std::ptrdiff_t>(i), rank) !=
          list->begin() + static_cast<std::ptrdiff_t>(i)) {
        throw ArgumentError(
            fmt::format("rank {} {} twice", rank, list == &from ? "sends" : "receives"));
      }
    }
  }
  return {c.input(0)};
}

std::vector<ValueType> infer_rank_number(const InferContext& c) {
  ranks_of(c.attributes());
  return {{DType::i64, Shape{}}};
}

// Returns a kernel that copies the operand to the output, for a world with one rank.
Kernel copy_of_operand(std::size_t bytes) {
  Phase phase;
  phase.cost_ns = static_cast<double>(bytes) / 8;
  phase.body = [bytes](const KernelRun& run, std::int64_t) {
    if (bytes > 0) std::memcpy(run.outputs[0], run.inputs[0], bytes);
  };
  return {.phases = {phase}};
}

std::size_t bytes_of(const OperandSpec& operand) {
  return static_cast<std::size_t>(operand.numel()) * dtype_size(operand.dtype);
}

// Splits `data` into `count` consecutive blocks of `bytes` bytes each.
Blocks blocks_of(void* data, std::size_t bytes, std::size_t count) {
  Blocks blocks;
  for (std::size_t i = 0; i < count; ++i)
    blocks.emplace_back(static_cast<std::byte*>(data) + i * bytes, bytes);
  return blocks;
}

// Splits `bytes` bytes into one part for each rank. The sizes of the parts differ by at most one
// cache line.
Blocks shares_of(std::byte* data, std::size_t bytes, std::size_t ranks) {
  const std::size_t lines = divide_up(bytes, kTensorAlignment);
  const auto begin = [&](std::size_t r) {
    return std::min(
        bytes, lines / ranks * r * kTensorAlignment + lines % ranks * r / ranks * kTensorAlignment);
  };
  Blocks blocks;
  for (std::size_t r = 0; r < ranks; ++r)
    blocks.emplace_back(data + begin(r), begin(r + 1) - begin(r));
  return blocks;
}

// Computes into += x element by element; integers wrap around.
void add(DType dtype, std::span<std::byte> into, std::span<const std::byte> x, Workers& workers) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      using Sum = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                              std::type_identity<T>>::type;
      T* const to = reinterpret_cast<T*>(into.data());
      const T* const from = reinterpret_cast<const T*>(x.data());
      const auto count = static_cast<std::int64_t>(into.size() / sizeof(T));
      const std::int64_t chunks = divide_up(count, kAddChunk);
      workers.for_chunks(
          chunks,
          [&](std::int64_t chunk, int) {
            const std::int64_t end = std::min(count, (chunk + 1) * kAddChunk);
            for (std::int64_t i = chunk * kAddChunk; i < end; ++i)
              to[i] = static_cast<T>(static_cast<Sum>(to[i]) + static_cast<Sum>(from[i]));
          },
          static_cast<double>(into.size()) / 8);
    }
  });
}

// Sums the blocks of all ranks into the first block along the binary tree over rank numbers, for
// example (b0 + b1) + (b2 + b3).
void sum_blocks(DType dtype, const Blocks& blocks, Workers& workers) {
  for (std::size_t step = 1; step < blocks.size(); step *= 2) {
    for (std::size_t i = 0; i + step < blocks.size(); i += 2 * step)
      add(dtype, blocks[i], blocks[i + step], workers);
  }
}

void copy(std::span<std::byte> to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

// Performs a reduce-scatter: sums this rank's block of `x` over all ranks and writes the sum to
// `own`.
void reduce(const World& world, DType dtype, const Blocks& x, std::byte* scratch,
            std::span<std::byte> own, Workers& workers) {
  const auto rank = static_cast<std::size_t>(world.rank());
  const Blocks parts = blocks_of(scratch, own.size(), x.size());
  copy(parts[rank], x[rank]);
  exchange(*world.transport(), kChannel, ConstBlocks(x.begin(), x.end()), parts);
  sum_blocks(dtype, parts, workers);
  copy(own, parts[0]);
}

std::byte* input_of(const KernelRun& run) {
  // The const_cast is safe because blocks that are sent are only read.
  return static_cast<std::byte*>(const_cast<void*>(run.inputs[0]));
}
std::byte* output_of(const KernelRun& run) { return static_cast<std::byte*>(run.outputs[0]); }

Kernel all_reduce_kernel(const KernelRequest& request) {
  const std::int64_t ranks = ranks_of(request.attributes);
  const DType dtype = request.inputs[0].dtype;
  const std::size_t bytes = bytes_of(request.inputs[0]);
  if (ranks == 1) return copy_of_operand(bytes);
  const auto count = static_cast<std::size_t>(ranks);
  Kernel kernel;
  // The scratch holds the contributions of all ranks to one part.
  kernel.shared_scratch = count * aligned_size(divide_up(bytes, count) + kTensorAlignment);
  kernel.exchange = [=](const KernelRun& run, const World& world, Workers& workers) {
    const Blocks to = shares_of(output_of(run), bytes, count);
    reduce(world, dtype, shares_of(input_of(run), bytes, count), run.shared_scratch,
           to[static_cast<std::size_t>(world.rank())], workers);
    all_gather(world, kChannel, to);
  };
  return kernel;
}

Kernel all_gather_kernel(const KernelRequest& request) {
  const std::int64_t ranks = ranks_of(request.attributes);
  const std::size_t bytes = bytes_of(request.inputs[0]);
  if (ranks == 1) return copy_of_operand(bytes);
  Kernel kernel;
  kernel.exchange = [=](const KernelRun& run, const World& world, Workers&) {
    const Blocks blocks = blocks_of(output_of(run), bytes, static_cast<std::size_t>(ranks));
    copy(blocks[static_cast<std::size_t>(world.rank())], {input_of(run), bytes});
    all_gather(world, kChannel, blocks);
  };
  return kernel;
}

Kernel reduce_scatter_kernel(const KernelRequest& request) {
  const std::int64_t ranks = ranks_of(request.attributes);
  const DType dtype = request.inputs[0].dtype;
  const std::size_t bytes = bytes_of(request.outputs[0]);
  if (ranks == 1) return copy_of_operand(bytes);
  const auto count = static_cast<std::size_t>(ranks);
  Kernel kernel;
  kernel.shared_scratch = bytes * count;
  kernel.exchange = [=](const KernelRun& run, const World& world, Workers& workers) {
    reduce(world, dtype, blocks_of(input_of(run), bytes, count), run.shared_scratch,
           {output_of(run), bytes}, workers);
  };
  return kernel;
}

Kernel all_to_all_kernel(const KernelRequest& request) {
  const std::int64_t ranks = ranks_of(request.attributes);
  const std::size_t bytes = bytes_of(request.inputs[0]);
  if (ranks == 1) return copy_of_operand(bytes);
  const auto count = static_cast<std::size_t>(ranks);
  Kernel kernel;
  kernel.exchange = [=](const KernelRun& run, const World& world, Workers&) {
    const Blocks to = blocks_of(input_of(run), bytes / count, count);
    const Blocks from = blocks_of(output_of(run), bytes / count, count);
    const auto own = static_cast<std::size_t>(world.rank());
    copy(from[own], to[own]);
    exchange(*world.transport(), kChannel, ConstBlocks(to.begin(), to.end()), from);
  };
  return kernel;
}

// Sends x to the ranks in `targets` and receives the output from rank `source`. If `source` is -1,
// the output is zeros.
void send_and_receive(const World& world, const KernelRun& run, std::size_t bytes,
                      const std::vector<bool>& targets, std::int64_t source) {
  const std::span<std::byte> x(input_of(run), bytes), out(output_of(run), bytes);
  const auto ranks = static_cast<std::size_t>(world.size());
  ConstBlocks to(ranks);
  Blocks from(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (targets[r]) to[r] = x;
  }
  if (source == world.rank()) {
    copy(out, x);
  } else if (source >= 0) {
    from[static_cast<std::size_t>(source)] = out;
  } else {
    std::fill(out.begin(), out.end(), std::byte{0});
  }
  exchange(*world.transport(), kChannel, to, from);
}

Kernel broadcast_from_kernel(const KernelRequest& request) {
  const std::int64_t ranks = ranks_of(request.attributes);
  const std::int64_t root = request.attributes.integer("root");
  const std::size_t bytes = bytes_of(request.inputs[0]);
  if (ranks == 1) return copy_of_operand(bytes);
  Kernel kernel;
  kernel.exchange = [=](const KernelRun& run, const World& world, Workers&) {
    const std::vector<bool> targets(static_cast<std::size_t>(ranks), world.rank() == root);
    send_and_receive(world, run, bytes, targets, root);
  };
  return kernel;
}

Kernel send_recv_kernel(const KernelRequest& request) {
  const std::int64_t ranks = ranks_of(request.attributes);
  const std::vector<std::int64_t> from = request.attributes.integers("from");
  const std::vector<std::int64_t> to = request.attributes.integers("to");
  const std::size_t bytes = bytes_of(request.inputs[0]);
  if (ranks == 1) {
    if (!from.empty()) return copy_of_operand(bytes);
    Phase zeros;
    zeros.body = [bytes](const KernelRun& run, std::int64_t) {
      if (bytes > 0) std::memset(run.outputs[0], 0, bytes);
    };
    return {.phases = {zeros}};
  }
  Kernel kernel;
  kernel.exchange = [=](const KernelRun& run, const World& world, Workers&) {
    std::vector<bool> targets(static_cast<std::size_t>(ranks));
    std::int64_t source = -1;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] == world.rank()) targets[static_cast<std::size_t>(to[i])] = true;
      if (to[i] == world.rank()) source = from[i];
    }
    send_and_receive(world, run, bytes, targets, source);
  };
  return kernel;
}

Kernel rank_number_kernel(const KernelRequest& request) {
  const std::int64_t ranks = ranks_of(request.attributes);
  Kernel kernel;
  if (ranks == 1) {
    Phase phase;
    phase.body = [](const KernelRun& run, std::int64_t) { *run.out<std::int64_t>(0) = 0; };
    kernel.phases.push_back(std::move(phase));
  } else {
    kernel.exchange = [=](const KernelRun& run, const World& world, Workers&) {
      *run.out<std::int64_t>(0) = world.rank();
    };
  }
  return kernel;
}

// Returns the cost. It includes the bytes of the operands and the bytes that a rank sends and
// receives, each of which is `sent` times the number of bytes of x.
Cost cost_of(const KernelRequest& request, double sent, bool adds) {
  const auto ranks = static_cast<double>(ranks_of(request.attributes));
  const auto in = static_cast<double>(bytes_of(request.inputs[0]));
  const auto out = static_cast<double>(bytes_of(request.outputs[0]));
  const double flops =
      adds ? (ranks - 1) / ranks * static_cast<double>(request.inputs[0].numel()) : 0;
  return {.flops = flops, .bytes = in + out + 2 * sent * in};
}
double remote_fraction(const KernelRequest& request) {
  const auto ranks = static_cast<double>(ranks_of(request.attributes));
  return (ranks - 1) / ranks;
}

Cost all_reduce_cost(const KernelRequest& r) { return cost_of(r, 2 * remote_fraction(r), true); }
Cost all_gather_cost(const KernelRequest& r) {
  return cost_of(r, static_cast<double>(ranks_of(r.attributes) - 1), false);
}
Cost reduce_scatter_cost(const KernelRequest& r) { return cost_of(r, remote_fraction(r), true); }
Cost all_to_all_cost(const KernelRequest& r) { return cost_of(r, remote_fraction(r), false); }
Cost send_cost(const KernelRequest& r) {
  return cost_of(r, ranks_of(r.attributes) > 1 ? 1 : 0, false);
}

OpRecord collective(std::string name, std::string doc) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = std::move(doc);
  r.inputs = {{"x"}};
  r.attributes = {{"ranks", std::int64_t{1}, true}};
  // Opaque, because passes cannot infer the operands of other ranks from the operand on this rank.
  r.traits = Trait::opaque | Trait::collective;
  return r;
}

}  // namespace

void CollectiveOps::add(OpSet& ops) {
  OpRecord r =
      collective("all_reduce",
                 "The sum of x over all ranks, computed along the binary tree over rank numbers.");
  r.infer = infer_all_reduce;
  r.kernel = all_reduce_kernel;
  r.cost = all_reduce_cost;
  ops.add(std::move(r));

  r = collective("all_gather",
                 "The tensors x of all ranks, concatenated along the first axis in rank order.");
  r.infer = infer_all_gather;
  r.kernel = all_gather_kernel;
  r.cost = all_gather_cost;
  ops.add(std::move(r));

  r = collective("reduce_scatter",
                 "The sum of x over all ranks, as in all_reduce. Rank r receives the r-th of "
                 "`ranks` equal parts along the first axis.");
  r.infer = infer_reduce_scatter;
  r.kernel = reduce_scatter_kernel;
  r.cost = reduce_scatter_cost;
  ops.add(std::move(r));

  r = collective("all_to_all",
                 "Divides the first axis into `ranks` equal parts. Part s of the result on rank "
                 "r is part r of x on rank s.");
  r.infer = infer_all_to_all;
  r.kernel = all_to_all_kernel;
  r.cost = all_to_all_cost;
  ops.add(std::move(r));

  r = collective("broadcast_from", "The tensor x of rank `root`, on all ranks.");
  r.attributes.push_back({"root", std::int64_t{0}});
  r.infer = infer_broadcast_from;
  r.kernel = broadcast_from_kernel;
  r.cost = send_cost;
  ops.add(std::move(r));

  r = collective("send_recv",
                 "Rank to[i] receives the tensor x of rank from[i]. Ranks that are not in `to` "
                 "receive zeros.");
  r.attributes.push_back({"from", std::vector<std::int64_t>(), true});
  r.attributes.push_back({"to", std::vector<std::int64_t>(), true});
  r.infer = infer_send_recv;
  r.kernel = send_recv_kernel;
  r.cost = send_cost;
  ops.add(std::move(r));

  r = collective("rank_number", "The number of this rank, from 0 to `ranks` - 1.");
  r.inputs = {};
  r.infer = infer_rank_number;
  r.kernel = rank_number_kernel;
  r.gradient = Gradient::none;
  r.no_gradient_reason = "it has no operands";
  ops.add(std::move(r));
}

}  // namespace weft
