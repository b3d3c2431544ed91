#include "weft/models/data/batching/epochs.h"

#include <memory>

#include "weft/core/error.h"

namespace weft {

Epochs::Order Epochs::examples(const BatchPart& part, std::int64_t batch) const {
  if (count_ < 1) throw ArgumentError("there are no examples to build batches from");
  const RowRange rows = part.rows(batch);
  Order examples;
  std::shared_ptr<const Order> order;
  std::int64_t epoch = -1;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const std::int64_t at = part.step() * batch + row;
    if (at / count_ != epoch) {
      epoch = at / count_;
      order = orders_(epoch,
                      [&] { return shuffle_(count_, seed_, static_cast<std::uint32_t>(epoch)); });
    }
    examples.push_back((*order)[static_cast<std::size_t>(at % count_)]);
  }
  return examples;
}

}  // namespace weft
