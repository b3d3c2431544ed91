// Adapters for the batch_norm and instance_norm golden cases, which use PyTorch operand names.
#include "op_adapters.h"

namespace weft::golden {
namespace {

OpOutputs batch_norm_case(const OpCase& c) {
  const bool training = c.attrs.at("training").get<bool>();
  const BatchNorm n = batch_norm(c["x"], c["running_mean"], c["running_var"], optional(c, "weight"),
                                 optional(c, "bias"),
                                 {.training = training,
                                  .momentum = c.attrs.at("momentum").get<double>(),
                                  .eps = c.attrs.at("eps").get<double>()});
  if (!training) return {{"out", n.out}};
  return {{"out", n.out},
          {"new_running_mean", n.running_mean},
          {"new_running_var", n.running_variance}};
}

OpOutputs instance_norm_case(const OpCase& c) {
  return {{"out", instance_norm(c["x"], optional(c, "weight"), optional(c, "bias"),
                                c.attrs.at("eps").get<double>())}};
}

}  // namespace

void add_norm_adapters(std::map<std::string, OpAdapter>& adapters) {
  adapters["batch_norm"] = batch_norm_case;
  adapters["instance_norm"] = instance_norm_case;
}

}  // namespace weft::golden
