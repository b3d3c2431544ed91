#include "weft/models/training/run_distributed.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/world/text_list.h"

namespace weft {
namespace {

/// Number of runs per rank between two exchanges: a trade-off between the number of messages and
/// the number of buffered results.
constexpr std::int64_t kRunsPerExchange = 4;

std::string serialise(const Results& results) {
  std::string serialised;
  for (const auto& [name, tensor] : results) {
    append_text(serialised, name);
    append_text(serialised, dtype_name(tensor.dtype()));
    std::string sizes;
    for (const std::int64_t size : tensor.sizes()) append_text(sizes, std::to_string(size));
    append_text(serialised, sizes);
    append_text(serialised, {reinterpret_cast<const char*>(tensor.raw()), tensor.bytes()});
  }
  return serialised;
}

Results deserialise(std::string_view serialised) {
  const std::vector<std::string> parts = split_texts(serialised);
  NamedTensors tensors;
  for (std::size_t i = 0; i + 3 < parts.size(); i += 4) {
    Sizes sizes;
    for (const std::string& size : split_texts(parts[i + 2])) sizes.push_back(std::stoll(size));
    Tensor tensor = Tensor::empty(parse_dtype(parts[i + 1]), sizes);
    std::memcpy(tensor.mutable_raw(), parts[i + 3].data(), tensor.bytes());
    tensors.emplace_back(parts[i], std::move(tensor));
  }
  return Results(std::move(tensors));
}

}  // namespace

void distribute_over_ranks(const World& world, std::int64_t count,
                           FunctionRef<std::string(std::int64_t i)> make,
                           FunctionRef<void(std::int64_t i, const std::string& made)> use) {
  const std::int64_t ranks = world.size();
  for (std::int64_t begin = 0; begin < count; begin += ranks * kRunsPerExchange) {
    const std::int64_t end = std::min(begin + ranks * kRunsPerExchange, count);
    std::string own;
    for (std::int64_t i = begin + world.rank(); i < end; i += ranks) append_text(own, make(i));
    std::vector<std::vector<std::string>> made;
    for (const std::string& of_rank : world.gather(own)) made.push_back(split_texts(of_rank));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t turn = (i - begin) / ranks, rank = (i - begin) % ranks;
      use(i, made[static_cast<std::size_t>(rank)].at(static_cast<std::size_t>(turn)));
    }
  }
}

void run_distributed(Session& session, const Program& program, std::int64_t count,
                     FunctionRef<NamedTensors(std::int64_t i)> inputs,
                     FunctionRef<void(std::int64_t i, const Results& results)> use) {
  const World& world = session.options().world;
  if (world.size() == 1 || !program.updates().empty()) {
    for (std::int64_t i = 0; i < count; ++i) use(i, session.run(program, inputs(i)));
    return;
  }
  distribute_over_ranks(
      world, count, [&](std::int64_t i) { return serialise(session.run(program, inputs(i))); },
      [&](std::int64_t i, const std::string& made) { use(i, deserialise(made)); });
}

}  // namespace weft
