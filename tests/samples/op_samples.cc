#include "weft/tests/samples/op_samples.h"

#include <fmt/format.h>

#include <utility>

#include "weft/core/error.h"

namespace weft {

void OpSamples::add(std::string_view op, Samples samples, Errors errors) {
  if (!entries_.emplace(std::string(op), Entry{samples, errors}).second) {
    throw ArgumentError(fmt::format("op '{}' already has samples", op));
  }
}

OpSet OpSamples::in(const OpSet& ops) const {
  for (const auto& entry : entries_) ops.at(entry.first);
  OpSet result;
  for (const OpRecord* record : ops.all()) {
    OpRecord copy = *record;
    const auto it = entries_.find(copy.name);
    if (it != entries_.end() && ops.find(copy.name) == record) {
      copy.samples = it->second.samples;
      copy.error_samples = it->second.errors;
    }
    result.add(std::move(copy));
  }
  return result;
}

}  // namespace weft
