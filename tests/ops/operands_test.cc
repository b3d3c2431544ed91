// Checks required operands, both when an op is evaluated alone and when it is added to a graph.
#include <boost/test/unit_test.hpp>

#include "weft/graph/ir/graph.h"
#include "weft/ops/op.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

const Tensor& vector() {
  static const Tensor t = Tensor::of<float>({3}, {1, 2, 3});
  return t;
}

using testing::says;

BOOST_AUTO_TEST_SUITE(operands_of_ops)

BOOST_AUTO_TEST_CASE(a_missing_operand_is_an_error_with_and_without_a_graph) {
  const OpRecord& add = builtin_ops()->at("add");
  BOOST_CHECK_EXCEPTION(evaluate_op(add, {vector()}), ArgumentError,
                        says("operand 'b' is missing"));
  BOOST_CHECK_EXCEPTION(evaluate_op(add, {Tensor(), vector()}), ArgumentError,
                        says("operand 'a' is missing"));
  BOOST_CHECK_EXCEPTION(evaluate_op(add, {vector(), vector(), vector()}), ArgumentError,
                        says("accepts at most 2 operands, but 3 are given"));
  const OpRecord& concat = builtin_ops()->at("concat");
  BOOST_CHECK_EXCEPTION(evaluate_op(concat, {vector(), Tensor()}, {{"axis", std::int64_t{0}}}),
                        ArgumentError, says("operand 'x' is missing"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
