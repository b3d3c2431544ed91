// Detection of NaNs and infinities in tensors and stores.
#include "weft/graph/engine/nonfinite.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "weft/core/error.h"

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(nonfinite)

constexpr double kInfinity = std::numeric_limits<double>::infinity();

BOOST_AUTO_TEST_CASE(a_nonfinite_element_is_found_at_any_position) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    for (const std::int64_t size : {1, 2, 1023, 1024, 1025, 3000}) {
      Tensor tensor = Tensor::full(dtype, {size}, -1.5);
      BOOST_TEST(!first_nonfinite(tensor));
      for (const std::int64_t at : {std::int64_t{0}, size / 2, size - 1}) {
        for (const double bad : {static_cast<double>(NAN), kInfinity, -kInfinity}) {
          BOOST_TEST_CONTEXT(dtype_name(dtype) << " " << size << " " << at << " " << bad) {
            Tensor spoilt = tensor.clone();
            const Tensor one = Tensor::full(dtype, {1}, bad);
            std::copy_n(one.raw(), one.bytes(),
                        spoilt.mutable_raw() + static_cast<std::size_t>(at) * one.bytes());
            BOOST_TEST((first_nonfinite(spoilt) == at));
          }
        }
      }
    }
    BOOST_TEST(!first_nonfinite(Tensor::empty(dtype, {3, 0})));
  }
  // The limits of the finite range, and denormals.
  using Float = std::numeric_limits<float>;
  using Double = std::numeric_limits<double>;
  BOOST_TEST(!first_nonfinite(
      Tensor::of<float>({4}, {Float::max(), Float::lowest(), Float::denorm_min(), -0.0F})));
  BOOST_TEST(!first_nonfinite(
      Tensor::of<double>({3}, {Double::max(), Double::lowest(), Double::denorm_min()})));
  BOOST_TEST(!first_nonfinite(Tensor::full(DType::f16, {2}, 65504)));
  BOOST_TEST(!first_nonfinite(Tensor::full(DType::bf16, {2}, 3.3e38)));
  BOOST_TEST(!first_nonfinite(Tensor::full(DType::i64, {2}, -1)));
}

BOOST_AUTO_TEST_CASE(parameters_and_moments_of_a_store_are_checked) {
  VariableStore store;
  store.insert("mask", VariableKind::buffer, Tensor::full(DType::f32, {3}, -kInfinity));
  store.insert("cache", VariableKind::cache, Tensor::full(DType::f32, {3}, NAN));
  store.insert("net.w", VariableKind::parameter, Tensor::full(DType::f32, {2, 3}, 1));
  store.insert("net.v", VariableKind::optimizer, Tensor::full(DType::f64, {}, 0));
  BOOST_TEST(!first_nonfinite(store));
  check_finite(store, "m.weft");

  store.set("net.v", Tensor::full(DType::f64, {}, kInfinity));
  BOOST_TEST(first_nonfinite(store)->message == "the optimizer's variable 'net.v' is inf at []");
  store.set("net.w", Tensor::of<float>({2, 3}, {0, 1, 2, 3, NAN, 5}));
  const auto found = first_nonfinite(store);
  BOOST_TEST_REQUIRE(found.has_value());
  BOOST_TEST(found->name == "net.w");
  BOOST_TEST(found->index == 4);
  BOOST_TEST(std::isnan(found->value));
  BOOST_CHECK_EXCEPTION(check_finite(store, "m.weft"), DataError, [](const Error& e) {
    return std::string(e.what()) == "m.weft: the parameter 'net.w' is nan at [1, 1]";
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
