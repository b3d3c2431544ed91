// Tests of the guarantees that every op record must provide, generated from the records themselves.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <vector>

#include "weft/autodiff/rule.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/support/cases/op_execution.h"
#include "weft/tests/support/cases/record_cases.h"

namespace weft {
namespace {

using testing::has_kernel;
using testing::OpExecution;

BOOST_AUTO_TEST_SUITE(records)

BOOST_AUTO_TEST_CASE(every_record_is_complete) {
  for (const OpRecord* op : builtin_ops()->all()) {
    BOOST_TEST_CONTEXT("op " << op->name) {
      BOOST_TEST(testing::check_complete(*op) == "");
      const bool exempt = op->has(Trait::leaf) || op->has_bodies() || op->has(Trait::alias);
      BOOST_TEST((exempt || op->error_samples != nullptr), "error samples are missing");
      if (op->error_samples != nullptr) BOOST_TEST(!op->error_samples().empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(an_empty_record_function_converts_to_false) {
  using Function = RecordFunction<int(int)>;
  int (*const pointer)(int) = nullptr;
  BOOST_TEST(!Function());
  BOOST_TEST(!Function(nullptr));
  BOOST_TEST(!Function(pointer));
  BOOST_TEST(!Function(std::function<int(int)>()));
  const std::vector<int> two = {2};
  BOOST_TEST(Function([](int x) { return x + 1; })(3) == 4);
  BOOST_TEST(Function([two](int x) { return x + two[0]; })(3) == 5);
  BOOST_TEST(Function(std::function<int(int)>([two](int x) { return x * two[0]; }))(3) == 6);
  OpRecord record;
  record.name = "lacking";
  record.infer = [](const InferContext& c) { return std::vector<ValueType>{c.input(0)}; };
  record.kernel = std::function<Kernel(const KernelRequest&)>();
  BOOST_CHECK_THROW(with_ops({record}), ArgumentError);
}

BOOST_AUTO_TEST_CASE(rules_and_definitions_exist_only_for_known_ops) {
  for (const std::string& name : builtin_rules().names()) {
    BOOST_TEST((builtin_ops()->find(name) != nullptr), "rule or definition of unknown op " << name);
  }
}

// Compares the results of float kernels with those of double kernels, for all samples that support
// both. `for_each_way` calls its argument once for each way of computing results, with its name.
void check_float_against_double(
    const std::function<void(const std::function<void(const char*)>&)>& for_each_way) {
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->samples == nullptr) continue;
    const auto samples = op->samples();
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const auto in_double = testing::double_results(*op, samples[s]);
      for_each_way([&](const char* way) {
        BOOST_TEST_CONTEXT("op " << op->name << " sample " << s << " on " << way) {
          BOOST_TEST(testing::check_against_double(*op, samples[s], in_double) == "");
        }
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(float_kernels_match_double_kernels_on_every_simd_target) {
  check_float_against_double(testing::for_each_simd_target);
}

// Products of all shapes are forced to run on matrix units.
BOOST_AUTO_TEST_CASE(float_kernels_match_double_kernels_on_matrix_units) {
  using kernels::Bf16Unit;
  check_float_against_double([](const std::function<void(const char*)>& body) {
    for (const Bf16Unit unit : {Bf16Unit::emulated_amx, Bf16Unit::amx}) {
      if (!kernels::bf16_unit_available(unit)) continue;
      const kernels::ForcedBf16Unit forced(unit);
      body(std::string(kernels::bf16_unit_name(unit)).c_str());
    }
  });
}

// If the record allows an output to overwrite an input, doing so must give the same bits.
BOOST_AUTO_TEST_CASE(in_place_execution_gives_the_same_bits) {
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->samples == nullptr || op->inplace.empty()) continue;
    for (const OpSample& sample : op->samples()) {
      const auto expected = evaluate_op(*op, sample.inputs, sample.attributes);
      for (const auto& [output, input] : op->inplace) {
        const auto in = static_cast<std::size_t>(input), out = static_cast<std::size_t>(output);
        if (out >= expected.size()) continue;  // a record may list more outputs than a sample has
        if (in >= sample.inputs.size() || !sample.inputs[in].defined()) continue;
        const Tensor& source = sample.inputs[in];
        if (source.sizes() != expected[out].sizes() ||
            dtype_size(source.dtype()) != dtype_size(expected[out].dtype())) {
          continue;
        }
        BOOST_TEST_CONTEXT("op " << op->name << " output " << output << " over input " << input) {
          OpExecution run(*op, sample, expected, {.inplace = std::pair(output, input)});
          run.execute();
          BOOST_TEST(bitwise_equal(run.results()[out], expected[out]));
        }
      }
    }
  }
}

// Chunks may run in any order.
BOOST_AUTO_TEST_CASE(reversed_chunk_order_gives_the_same_bits) {
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->samples == nullptr || !has_kernel(*op)) continue;
    for (const OpSample& sample : op->samples()) {
      BOOST_TEST_CONTEXT("op " << op->name) {
        const auto expected = evaluate_op(*op, sample.inputs, sample.attributes);
        OpExecution run(*op, sample, expected);
        run.execute();
        for (std::size_t o = 0; o < expected.size(); ++o) {
          BOOST_TEST(bitwise_equal(run.results()[o], expected[o]), "output " << o);
        }
      }
    }
  }
}

// An output without readers has no memory. The other outputs keep their bits.
BOOST_AUTO_TEST_CASE(unused_outputs_do_not_change_the_others) {
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->samples == nullptr || !has_kernel(*op) || op->outputs.size() < 2) continue;
    for (const OpSample& sample : op->samples()) {
      const auto expected = evaluate_op(*op, sample.inputs, sample.attributes);
      // First, each output is the only wanted one; then, each output is the only unwanted one.
      for (std::size_t which = 0; which < 2 * expected.size(); ++which) {
        const auto wanted = [&](std::size_t o) {
          return which < expected.size() ? o == which : o != which - expected.size();
        };
        BOOST_TEST_CONTEXT("op " << op->name << " variant " << which) {
          OpExecution run(*op, sample, expected, {.wanted = wanted});
          run.execute();
          for (std::size_t o = 0; o < expected.size(); ++o) {
            if (wanted(o)) BOOST_TEST(bitwise_equal(run.results()[o], expected[o]), "output " << o);
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(error_samples_cause_their_message_with_operands_and_source_line) {
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->error_samples == nullptr) continue;
    for (const OpErrorSample& sample : op->error_samples()) {
      const std::string problem = testing::check_error_sample(builtin_ops(), *op, sample);
      BOOST_TEST(problem == "", op->name << ": " << problem);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
