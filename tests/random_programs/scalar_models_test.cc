// Compares the scalar models in tests/reference with the kernels, on every sample of every record.
// The program fuzzer relies on these models, so they must be correct.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft {
namespace {

bool needs_model(const OpRecord& op) { return !op.has(Trait::leaf) || op.kernel != nullptr; }

void check_sample(const OpRecord& op, const std::vector<Tensor>& inputs,
                  const Attributes& attributes) {
  const auto want = testing::scalar_outputs(op, inputs, attributes);
  const auto got = evaluate_op(op, inputs, attributes);
  BOOST_REQUIRE_EQUAL(got.size(), want.size());
  for (std::size_t o = 0; o < got.size(); ++o) {
    const auto difference = testing::difference(got[o], want[o]);
    BOOST_TEST(!difference.has_value(), "output " << o << ": " << difference.value_or(""));
  }
}

BOOST_AUTO_TEST_SUITE(scalar_models)

// Calls need no model because they are replaced by the bodies of their functions.
BOOST_AUTO_TEST_CASE(every_record_has_a_scalar_model) {
  for (const OpRecord* op : builtin_ops()->all()) {
    if (!needs_model(*op) || op->has_bodies()) continue;
    BOOST_TEST(testing::scalar_models().contains(op->name),
               "op " << op->name << " has no scalar model in tests/reference");
  }
  for (const auto& [name, model] : testing::scalar_models()) {
    BOOST_TEST((builtin_ops()->find(name) != nullptr),
               "there is a scalar model for the unknown op " << name);
  }
}

BOOST_AUTO_TEST_CASE(kernels_match_the_scalar_models_on_all_samples) {
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->samples == nullptr || op->has_bodies()) continue;
    const auto samples = op->samples();
    for (std::size_t s = 0; s < samples.size(); ++s) {
      BOOST_TEST_CONTEXT("op " << op->name << " sample " << s) {
        check_sample(*op, samples[s].inputs, samples[s].attributes);
        // Repeat the comparison in double, if the record supports it.
        std::vector<Tensor> wide = samples[s].inputs;
        for (Tensor& t : wide) {
          if (t.defined() && t.dtype() == DType::f32) t = t.to(DType::f64);
        }
        Attributes attributes = samples[s].attributes;
        for (const auto& [name, value] : samples[s].attributes) {
          const DType* dtype = std::get_if<DType>(&value);
          if (dtype != nullptr && *dtype == DType::f32) attributes.set(name, DType::f64);
        }
        try {
          check_sample(*op, wide, attributes);
        } catch (const DTypeError&) {
        } catch (const ArgumentError&) {
          // The tile program contains a step that supports f32 only.
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
