#include "weft/ops/gemm/parallel.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
#include "weft/ops/gemm/tiling.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/gemm/serial.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/matmul.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/more_threads.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::max_difference;

// Runs the phases of a kernel with inputs a and b, and output c.
void run_phases(const Kernel& kernel, const Tensor& a, const Tensor& b, Tensor& c,
                Workers& workers) {
  const void* in[] = {a.raw(), b.raw()};
  void* out[] = {c.mutable_raw()};
  const auto shared = Buffer::allocate(kernel.shared_scratch);
  std::vector<std::shared_ptr<Buffer>> slots;
  for (int i = 0; i < workers.slots(); ++i) slots.push_back(Buffer::allocate(kernel.slot_scratch));
  // Scratch memory is filled with a pattern, because the kernel must not read anything that it did
  // not write.
  std::memset(shared->data(), 0xFF, kernel.shared_scratch);
  for (const auto& slot : slots) std::memset(slot->data(), 0xFF, kernel.slot_scratch);
  for (const Phase& phase : kernel.phases) {
    workers.for_chunks(phase.chunks, [&](std::int64_t chunk, int slot) {
      phase.body({in, out, shared->data(), slots[static_cast<std::size_t>(slot)]->data()}, chunk);
    });
  }
}

GemmPointers gemm_operands(const KernelRun& run) {
  return {run.inputs[0], run.inputs[1], run.outputs[0]};
}

GemmBatch row_major(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmBatch batch;
  batch.m = m, batch.n = n, batch.k = k;
  batch.a.row_stride = k, batch.b.row_stride = n, batch.c.row_stride = n;
  return batch;
}

// Returns the result of gemm() on one thread, which adds the blocks of the depth in order.
Tensor by_gemm(const Tensor& a, const Tensor& b) {
  kernels::GemmProblem<float> g;
  g.m = a.size(0), g.n = b.size(1), g.k = a.size(1);
  Tensor c = Tensor::zeros(DType::f32, {g.m, g.n});
  g.a = {a.data<float>(), g.k, 1};
  g.b = {b.data<float>(), g.n, 1};
  g.c = c.mutable_data<float>();
  g.c_stride = g.n;
  g.engine = kernels::choose_bf16_split_engine(Precision::highest, g.m, g.n, g.k);
  const auto scratch = Buffer::allocate(kernels::gemm_scratch_bytes(4, g.m, g.n, g.k, g.engine));
  kernels::gemm(g, scratch->data());
  return c;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(parallel_gemm)

BOOST_AUTO_TEST_CASE(every_tiling_matches_one_thread_bit_for_bit) {
  const testing::MoreThreads more;
  Workers one({.threads = 1}), many({.threads = 5, .shuffle_seed = 3});
  const Sizes sizes[] = {
      {250, 530, 900},   // a grid of tiles, packed for all threads
      {100, 1800, 400},  // strips of columns
      {1800, 60, 800},   // strips of rows
      {700, 900, 3000},  // depth is split into ranges
      {24, 2000, 7900},
      {512, 768, 8300},  // narrow strips, and ranges of the depth that fit into the L2 cache
  };
  for (const Sizes& s : sizes) {
    const Tensor a = sample_uniform({s[0], s[2]}, 1), b = sample_uniform({s[2], s[1]}, 2);
    const Tensor expected = by_gemm(a, b);
    Kernel kernel;
    ParallelGemm(kernel).add(row_major(s[0], s[1], s[2]), gemm_operands);
    for (Workers* workers : {&one, &many}) {
      Tensor c = Tensor::full(DType::f32, {s[0], s[1]}, NAN);
      run_phases(kernel, a, b, c, *workers);
      BOOST_TEST(same_bits(c, expected), s[0] << " x " << s[1] << " x " << s[2]);
    }
  }
  BOOST_WARN_MESSAGE(many.statistics().distinct_slots > 1,
                     "only one thread ran: the machine may be busy");
  BOOST_TEST(many.statistics().parallel_chunks > 100);
}

// Grids, strips, ranges of the depth, and split-K.
BOOST_AUTO_TEST_CASE(the_epilogue_processes_every_complete_sum_once) {
  const testing::MoreThreads more;
  Workers many({.threads = 5, .shuffle_seed = 3});
  for (const Sizes& s : {Sizes{250, 530, 900}, Sizes{1800, 60, 800}, Sizes{700, 900, 3000},
                         Sizes{60, 70, 9000}, Sizes{3, 50, 900}}) {
    const Tensor a = sample_uniform({s[0], s[2]}, 1), b = sample_uniform({s[2], s[1]}, 2);
    Kernel plain, kernel;
    ParallelGemm(plain).add(row_major(s[0], s[1], s[2]), gemm_operands);
    ParallelGemm(kernel).add(row_major(s[0], s[1], s[2]), gemm_operands,
                             [](const KernelRun&, const OutputTile& tile) {
                               for (std::int64_t i = 0; i < tile.rows; ++i) {
                                 float* row = static_cast<float*>(tile.c) + i * tile.c_stride;
                                 for (std::int64_t j = 0; j < tile.columns; ++j)
                                   row[j] = 2 * row[j] + 1;
                               }
                             });
    Tensor expected = Tensor::full(DType::f32, {s[0], s[1]}, NAN), c = expected.clone();
    run_phases(plain, a, b, expected, many);
    float* const e = expected.mutable_data<float>();
    for (std::int64_t i = 0; i < s[0] * s[1]; ++i) e[i] = 2 * e[i] + 1;
    run_phases(kernel, a, b, c, many);
    BOOST_TEST(same_bits(c, expected), s[0] << " x " << s[1] << " x " << s[2]);
  }
}

// The operand is stored transposed, and tiles convert the parts that they need.
BOOST_AUTO_TEST_CASE(a_converted_operand_gives_the_same_bits_as_a_stored_one) {
  const testing::MoreThreads more;
  Workers one({.threads = 1}), many({.threads = 5, .shuffle_seed = 3});
  for (const Sizes& s : {Sizes{250, 530, 900}, Sizes{3, 5, 7}, Sizes{1800, 61, 800},
                         Sizes{40, 3000, 70}, Sizes{700, 90, 8000}, Sizes{20, 30, 0}}) {
    const std::int64_t n = s[1], k = s[2];
    const Tensor a = sample_uniform({s[0], k}, 1), b = sample_uniform({k, n}, 2);
    Tensor stored = Tensor::empty(DType::f32, {n, k});
    for (std::int64_t i = 0; i < k * n; ++i)
      stored.mutable_data<float>()[i % n * k + i / n] = b.data<float>()[i];
    GemmBatch batch = row_major(s[0], n, k);
    std::atomic<bool> valid = true;
    batch.convert_b = [n, k, &valid](const KernelRun& run, const MatrixPart& part, void* to,
                                     std::int64_t stride) {
      if (part.row % 32 != 0 || part.column % 16 != 0 || part.row + part.rows > k ||
          part.column + part.columns > n || stride < (part.columns + 15) / 16 * 16)
        valid = false;
      for (std::int64_t i = 0; i < part.rows; ++i) {
        for (std::int64_t j = 0; j < part.columns; ++j) {
          static_cast<float*>(to)[i * stride + j] =
              run.in<float>(1)[(part.column + j) * k + part.row + i];
        }
      }
    };
    Kernel kernel;
    ParallelGemm(kernel).add(batch, gemm_operands);
    const Tensor expected = by_gemm(a, b);
    for (Workers* workers : {&one, &many}) {
      Tensor c = Tensor::full(DType::f32, {s[0], n}, NAN);
      run_phases(kernel, a, stored, c, *workers);
      BOOST_TEST(same_bits(c, expected), s[0] << " x " << n << " x " << k);
    }
    BOOST_TEST(valid);
  }
}

BOOST_AUTO_TEST_CASE(split_k_has_the_same_bits_for_any_number_of_threads) {
  const testing::MoreThreads more;
  Workers one({.threads = 1}), many({.threads = 5, .shuffle_seed = 3});
  const Tensor a = sample_uniform({5000, 40}, 1), b = sample_uniform({5000, 70}, 2);
  GemmBatch batch = row_major(40, 70, 5000);
  batch.a.row_stride = 1, batch.a.column_stride = 40;
  Kernel kernel;
  ParallelGemm(kernel).add(batch, gemm_operands);
  BOOST_TEST(kernel.phases.size() == 2);
  BOOST_TEST(kernel.phases[0].chunks > 4);
  Tensor c = Tensor::full(DType::f32, {40, 70}, NAN), d = c.clone();
  run_phases(kernel, a, b, c, one);
  run_phases(kernel, a, b, d, many);
  BOOST_TEST(same_bits(c, d));
  const Tensor expected = testing::reference_matmul(a, b, true, false);
  BOOST_CHECK_SMALL(max_difference(c, expected), 1e-3);
}

BOOST_AUTO_TEST_CASE(accumulation_adds_to_the_existing_result) {
  Workers workers({.threads = 2});
  for (const Sizes& s : {Sizes{3, 50, 20}, Sizes{40, 50, 20}, Sizes{40, 60, 4000},
                         Sizes{300, 400, 1500}, Sizes{20, 30, 0}}) {
    const Tensor a = sample_uniform({s[0], s[2]}, 1), b = sample_uniform({s[2], s[1]}, 2);
    GemmBatch batch = row_major(s[0], s[1], s[2]);
    Tensor once = Tensor::full(DType::f32, {s[0], s[1]}, NAN);
    Kernel kernel;
    ParallelGemm(kernel).add(batch, gemm_operands);
    run_phases(kernel, a, b, once, workers);
    batch.accumulate = true;
    Kernel adding;
    ParallelGemm(adding).add(batch, gemm_operands);
    Tensor twice = once.clone();
    run_phases(adding, a, b, twice, workers);
    for (std::int64_t i = 0; i < once.numel(); ++i) {
      BOOST_REQUIRE_SMALL(twice.at(i) - 2 * once.at(i), 1e-3);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_epilogue_runs_once_on_the_final_value_of_every_element) {
  Workers workers({.threads = 4, .shuffle_seed = 7});
  for (const Sizes& s :
       {Sizes{2, 300, 40}, Sizes{300, 3, 40}, Sizes{50, 60, 4000}, Sizes{250, 530, 300},
        Sizes{700, 900, 3000}, Sizes{100, 1800, 400}, Sizes{7, 9, 0}}) {
    const Tensor a = sample_uniform({s[0], s[2]}, 1), b = sample_uniform({s[2], s[1]}, 2);
    Tensor plain = Tensor::full(DType::f32, {s[0], s[1]}, NAN), finished = plain.clone();
    Kernel kernel;
    ParallelGemm(kernel).add(row_major(s[0], s[1], s[2]), gemm_operands);
    run_phases(kernel, a, b, plain, workers);
    Kernel with;
    ParallelGemm(with).add(
        row_major(s[0], s[1], s[2]), gemm_operands, [](const KernelRun&, const OutputTile& tile) {
          for (std::int64_t i = 0; i < tile.rows; ++i) {
            float* row = static_cast<float*>(tile.c) + i * tile.c_stride;
            for (std::int64_t j = 0; j < tile.columns; ++j) {
              row[j] = 2 * row[j] + static_cast<float>(tile.row + i + 100 * (tile.column + j));
            }
          }
        });
    run_phases(with, a, b, finished, workers);
    for (std::int64_t i = 0; i < s[0]; ++i) {
      for (std::int64_t j = 0; j < s[1]; ++j) {
        const float expected =
            2 * plain.data<float>()[i * s[1] + j] + static_cast<float>(i + 100 * j);
        BOOST_REQUIRE_EQUAL(finished.data<float>()[i * s[1] + j], expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(narrow_operands_are_widened_exactly) {
  Workers workers({.threads = 2});
  testing::for_each_simd_target([&](const char*) {
    for (const DType narrow : {DType::bf16, DType::f16}) {
      for (const Sizes& s : {Sizes{5, 37, 19}, Sizes{30, 40, 50}, Sizes{1, 64, 70}}) {
        for (const bool tb : {false, true}) {
          const Tensor a = sample_uniform({s[0], s[2]}, 1).to(narrow);
          const Tensor b = sample_uniform(tb ? Sizes{s[1], s[2]} : Sizes{s[2], s[1]}, 2).to(narrow);
          GemmBatch batch = row_major(s[0], s[1], s[2]);
          batch.a.dtype = batch.b.dtype = narrow;
          if (tb) batch.b.row_stride = 1, batch.b.column_stride = s[2];
          Kernel kernel;
          ParallelGemm(kernel).add(batch, gemm_operands);
          Tensor c = Tensor::full(DType::f32, {s[0], s[1]}, NAN);
          run_phases(kernel, a, b, c, workers);
          const Tensor expected =
              testing::reference_matmul(a.to(DType::f32), b.to(DType::f32), false, tb);
          BOOST_REQUIRE_SMALL(max_difference(c, expected), 1e-5);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(previously_reserved_scratch_memory_is_not_modified) {
  Workers workers({.threads = 1});
  const Tensor a = sample_uniform({250, 300}, 1), b = sample_uniform({300, 530}, 2);
  Kernel kernel;
  kernel.shared_scratch = 100, kernel.slot_scratch = 10;
  Phase mark;
  mark.body = [](const KernelRun& run, std::int64_t) {
    std::memset(run.shared_scratch, 1, 100);
    std::memset(run.slot_scratch, 2, 10);
  };
  kernel.phases.push_back(mark);
  ParallelGemm gemm(kernel);
  gemm.add(row_major(250, 530, 300), gemm_operands);
  const std::size_t shared = kernel.shared_scratch;
  gemm.add(row_major(250, 530, 300), gemm_operands);
  BOOST_TEST(kernel.shared_scratch == shared);
  int wrong = 0;
  Phase look;
  look.body = [&](const KernelRun& run, std::int64_t) {
    for (int i = 0; i < 100; ++i) wrong += run.shared_scratch[i] != std::byte{1};
    for (int i = 0; i < 10; ++i) wrong += run.slot_scratch[i] != std::byte{2};
  };
  kernel.phases.push_back(look);
  Tensor c = Tensor::zeros(DType::f32, {250, 530});
  run_phases(kernel, a, b, c, workers);
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(mismatched_dtypes_are_rejected) {
  GemmBatch batch = row_major(2, 3, 4);
  batch.b.dtype = DType::f64;
  Kernel kernel;
  BOOST_CHECK_EXCEPTION(
      ParallelGemm(kernel).add(batch, gemm_operands), DTypeError, [](const DTypeError& e) {
        return std::string(e.what()).find("a product of f32 and f64 cannot be f32") !=
               std::string::npos;
      });
}

BOOST_AUTO_TEST_CASE(tilings_have_enough_tiles_and_little_shared_scratch_memory) {
  const kernels::GemmEngine& engine = kernels::fma_engine(DType::f32);
  const std::int64_t sizes[] = {9, 64, 100, 768, 1024, 3072, 8192, 50257};
  for (const std::int64_t m : sizes) {
    for (const std::int64_t n : sizes) {
      for (const std::int64_t k : sizes) {
        const GemmTiling tiling = choose_tiling(m, n, k, false, engine);
        GemmBatch batch = row_major(m, n, k);
        Kernel kernel;
        ParallelGemm(kernel).add(batch, gemm_operands);
        BOOST_TEST(kernel.shared_scratch <= (17u << 20));
        BOOST_TEST(kernel.slot_scratch <= (1u << 20));
        const auto pieces = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
        const double tiles =
            static_cast<double>(pieces(tiling.range_rows, tiling.tile_rows)) *
            static_cast<double>(pieces(tiling.range_columns, tiling.tile_columns)) *
            static_cast<double>(tiling.split_k);
        const double work = static_cast<double>(m) * static_cast<double>(n) *
                            static_cast<double>(k) / static_cast<double>(tiling.row_ranges()) /
                            static_cast<double>(tiling.column_ranges());
        // There must be at least eight tiles, unless the tiles are so small that distributing them
        // does not pay off.
        BOOST_TEST((tiles >= 8 || work / tiles < 6e6), m << " x " << n << " x " << k);
      }
    }
  }
}

// Narrow strips read the whole range of the other operand, here 256 rows.
BOOST_AUTO_TEST_CASE(narrow_strips_divide_a_large_depth_into_ranges_of_one_megabyte) {
  const kernels::GemmEngine& engine = kernels::fma_engine(DType::f32);
  const GemmTiling deep = choose_tiling(256, 768, 50257, false, engine);
  BOOST_TEST(deep.tile_columns < 96);
  BOOST_TEST(deep.range_depth * 256 * 4 <= 1 << 20);
  BOOST_TEST(deep.range_depth % engine.depth_block == 0);
  // If the other operand fits into the shared scratch, it is packed only once.
  BOOST_TEST(choose_tiling(256, 768, 8192, false, engine).range_depth >= 8192);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
