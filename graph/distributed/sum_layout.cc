#include "weft/graph/distributed/sum_layout.h"

#include <algorithm>
#include <cstdint>

#include "weft/core/rounding.h"
#include "weft/graph/distributed/split_shards.h"
#include "weft/ops/kernel.h"
#include "weft/ops/row_kernel.h"

namespace weft {
namespace {

constexpr std::size_t kAddedAtOnce = std::size_t{1} << 18;  // bytes per chunk

}  // namespace

SumLayout::SumLayout(const std::vector<ValueType>& types, const OpSet& ops)
    : add_(ops.at("add")), places_(types.size()) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8}) {
    Region region{.dtype = dtype, .begin = bytes_};
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types[i].dtype != dtype) continue;
      places_[i] = {types[i], bytes_};
      bytes_ += aligned_size(bytes_of_sum(types[i]));
    }
    region.end = bytes_;
    if (region.end > region.begin) regions_.push_back(region);
  }
}

std::size_t SumLayout::bytes(std::size_t i) const { return bytes_of_sum(places_[i].type); }

std::vector<Tensor> SumLayout::tensors(const std::shared_ptr<Buffer>& block) const {
  std::vector<Tensor> result;
  for (const Place& p : places_) {
    result.push_back(Tensor::view(p.type.dtype, p.type.shape.constant(), block, p.offset));
  }
  return result;
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
