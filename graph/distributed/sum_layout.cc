#include "weft/graph/distributed/sum_layout.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "weft/core/rounding.h"
#include "weft/ops/kernel.h"
#include "weft/ops/row_kernel.h"

namespace weft {
namespace {

constexpr std::size_t kAddedAtOnce = std::size_t{1} << 18;  // bytes per chunk

}  // namespace

SumLayout::SumLayout(const ShardedProgram::Stage& stage, SumNumbers sums)
    : add_(stage.module.graph->ops().at("add")), sums_(std::move(sums)) {
  for (const std::size_t sum : sums_) places_.emplace(sum, Place{});
  for (std::size_t i = 0; i < stage.sums.size(); ++i) {  // sums are the first outputs
    const auto it = places_.find(stage.sums[i]);
    if (it != places_.end()) it->second.type = stage.module.program.outputs()[i].second.type();
  }
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8}) {
    Region region{.dtype = dtype, .begin = bytes_};
    for (const std::size_t sum : sums_) {
      Place& place = places_.at(sum);
      if (place.type.dtype != dtype) continue;
      place.offset = bytes_;
      bytes_ += aligned_size(bytes_of_sum(place.type));
    }
    region.end = bytes_;
    if (region.end > region.begin) regions_.push_back(region);
  }
}

void SumLayout::add(std::size_t begin, std::span<std::byte> into, std::span<const std::byte> x,
                    Workers& workers) const {
  for (const Region& region : regions_) {
    const Region part{.dtype = region.dtype,
                      .begin = std::max(region.begin, begin),
                      .end = std::min(region.end, begin + into.size())};
    if (part.begin >= part.end) continue;
    const std::size_t at = part.begin - begin;
    add_region(part, into.data() + at, x.data() + at, workers);
  }
}

void SumLayout::add_region(const Region& part, std::byte* into, const std::byte* x,
                           Workers& workers) const {
  const Attributes attributes = add_.complete({});
  const RowKernel add = add_.row(
      {.inputs = {part.dtype, part.dtype}, .output = part.dtype, .attributes = attributes});
  const std::size_t bytes = part.end - part.begin;
  const auto chunks = static_cast<std::int64_t>((bytes + kAddedAtOnce - 1) / kAddedAtOnce);
  workers.for_chunks(
      chunks,
      [&](std::int64_t chunk, int) {
        const std::size_t from = static_cast<std::size_t>(chunk) * kAddedAtOnce;
        const std::size_t size = std::min(kAddedAtOnce, bytes - from) / dtype_size(part.dtype);
        const void* const in[] = {into + from, x + from};
        add(in, into + from, static_cast<std::int64_t>(size), 0);
      },
      static_cast<double>(bytes) / 8);
}

}  // namespace weft
