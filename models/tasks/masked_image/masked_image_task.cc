#include "weft/models/tasks/masked_image/masked_image_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/families/masked_autoencoder.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {
namespace {

/// Returns the masks for the given rows of the batch at step `step`.
Tensor masks(const MaskedImageModel& model, std::int64_t step,
             const std::vector<std::int64_t>& rows) {
  const VitConfig& c = model.config;
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor all = Tensor::empty(DType::i32, {count, c.rows() * c.columns()});
  auto* out = all.mutable_data<std::int32_t>();
  for (const std::int64_t row : rows) {
    const std::vector<std::int32_t> mask =
        patch_mask(model.masking, c.rows(), c.columns(), model.settings.seed, step, row);
    out = std::copy(mask.begin(), mask.end(), out);
  }
  return all;
}

void check_set(const MaskedImageModel& model, const ImageSet& set, std::string_view purpose) {
  if (set.count() == 0) throw DataError(fmt::format("there are no images to {}", purpose));
  if (set.size() != model.image_size()) {
    throw ShapeError(fmt::format("the model requires images of size {}, not {}",
                                 model.image_size().str(), set.size().str()));
  }
}

/// Runs a program on held-out images in batches. Calls `use` with the results and the number of
/// images for each batch.
void over_held_out(Session& session, const Program& program, const MaskedImageModel& model,
                   const ImageSet& set, std::int64_t most,
                   const std::function<void(const Results&, double count)>& use) {
  check_set(model, set, "evaluate on");
  const std::vector<std::int64_t> all = evenly_spread(set.count(), most);
  const std::int64_t parts = (std::ssize(all) + kImagesAtOnce - 1) / kImagesAtOnce;
  const auto places_of = [&](std::int64_t i) {
    return std::vector<std::int64_t>(
        all.begin() + i * kImagesAtOnce,
        all.begin() + std::min<std::int64_t>((i + 1) * kImagesAtOnce, std::ssize(all)));
  };
  run_distributed(
      session, program, parts,
      [&](std::int64_t i) -> NamedTensors {
        const std::vector<std::int64_t> places = places_of(i);
        return {{"images", set.pick(places).images}, {"mask", held_out_masks(model, places)}};
      },
      [&](std::int64_t i, const Results& results) {
        use(results, static_cast<double>(places_of(i).size()));
      });
}

/// Returns the per-pixel median, f32 [1, channels, height, width]. For an even number of values, it
/// is the larger of the two middle values.
Tensor median_image(const ImageSet& set) {
  constexpr std::int64_t kMax = 2000;
  const ImageSet some = set.pick(evenly_spread(set.count(), kMax));
  const auto [channels, height, width] = some.size();
  const std::int64_t pixels = channels * height * width;
  Tensor result = Tensor::empty(DType::f32, {1, channels, height, width});
  std::vector<float> values(static_cast<std::size_t>(some.count()));
  const auto middle = values.begin() + some.count() / 2;
  for (std::int64_t p = 0; p < pixels; ++p) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = some.images.data<float>()[static_cast<std::int64_t>(i) * pixels + p];
    std::nth_element(values.begin(), middle, values.end());
    result.mutable_data<float>()[p] = *middle;
  }
  return result;
}

}  // namespace

Tensor held_out_masks(const MaskedImageModel& model, const std::vector<std::int64_t>& places) {
  // Training steps are numbered from 0, so step -1 produces masks that training never uses.
  return masks(model, -1, places);
}

double masked_image_loss(Session& session, const MaskedImageModel& model, const ImageSet& set,
                         std::int64_t most) {
  WeightedMean loss;
  over_held_out(session, model.program("evaluate"), model, set, most,
                [&](const Results& results, double count) {
                  loss.add(results["loss"].item<float>(), count);
                });
  return loss.value();
}

TrainTask masked_image_task(Session& session, const MaskedImageModel& model, const ImageSet& train,
                            const ImageSet& validation) {
  check_set(model, train, "train on");
  TrainTask task = train_task(
      model, "images",
      [batches = ImageBatches(train, model.settings.batch, model.augmentation, model.settings.seed),
       &model](const BatchPart& part) {
        const ImageSet batch = batches(part);
        std::vector<std::int64_t> rows(static_cast<std::size_t>(batch.count()));
        std::iota(rows.begin(), rows.end(), part.rows(model.settings.batch).begin);
        return TrainBatch{{{"images", batch.images}, {"mask", masks(model, part.step(), rows)}},
                          batch.count()};
      });
  if (validation.count() > 0) {
    task.evaluate = [&session, &model, &validation](bool whole) {
      const std::int64_t most = whole ? 0 : model.settings.eval_batches * model.settings.batch;
      return Evaluation{masked_image_loss(session, model, validation, most), {}};
    };
  }
  return task;
}

MaskedImageBaselines masked_image_baselines(const MaskedImageModel& model, const ImageSet& train,
                                            const ImageSet& held_out) {
  check_set(model, train, "compute a median of");
  const VitConfig& c = model.config;
  Graph graph;
  const Value images =
      graph.input("images", DType::f32, {"batch", c.channels, c.image_height, c.image_width});
  const Value mask = graph.input("mask", DType::i32, {"batch", c.rows() * c.columns()});
  const Value visible = 1 - masked_pixels(c, mask, DType::f32);
  const auto loss_of = [&](const Value& guess) {
    const Value target = normalised(images, model.images.normalisation);
    const Value pixels =
        normalised(broadcast_to(guess, images.shape()), model.images.normalisation);
    if (model.masking.objective == MaskedImageObjective::simmim)
      return masked_pixel_loss(c, target, pixels, mask);
    const Value patches = patches_of(c, pixels);
    return masked_patch_loss(c, target,
                             c.normalise_pixel_loss ? normalised_patches(patches) : patches,
                             cast(mask, DType::f32));
  };
  Program guesses("guesses");
  guesses
      .output("visible_mean",
              loss_of(sum(images * visible, {2, 3}, true) / sum(visible, {2, 3}, true)))
      .output("training_median", loss_of(graph.constant(median_image(train))));
  Session session(graph);
  WeightedMean visible_mean, training_median;
  over_held_out(session, guesses, model, held_out, 0, [&](const Results& results, double count) {
    visible_mean.add(results["visible_mean"].item<float>(), count);
    training_median.add(results["training_median"].item<float>(), count);
  });
  return {visible_mean.value(), training_median.value()};
}

}  // namespace weft
