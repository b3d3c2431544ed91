// Adds samples to the records of builtin_ops() in each program that links this file.
#include "weft/ops/samples.h"
#include "weft/tests/samples/op_samples.h"

namespace weft {
namespace {

template <class... Families>
void add_all(FamilyList<Families...>, OpSamples& all) {
  (add_samples(Families(), all), ...);
}

}  // namespace

void add_builtin_samples(OpSet& ops) {
  OpSamples all;
  add_all(BuiltinFamilies(), all);
  ops = all.in(ops);
}

}  // namespace weft
