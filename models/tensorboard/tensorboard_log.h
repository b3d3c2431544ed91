// TensorBoardLog: the events of a training run in TensorBoard.
//
//   EventWriter events("runs/first");
//   TensorBoardLog log(events);
//   Trainer trainer(session, task, {.settings = settings, .observer = &log});
#pragma once

#include <cstdint>

#include "weft/models/tensorboard/event_writer.h"
#include "weft/models/training/model.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// Writes the reports of a Trainer as scalars:
///
/// | tag | value |
/// | --- | --- |
/// | loss/train, learning_rate, gradient_norm | of every step, as in StepReport |
/// | speed/tokens_per_second | with the unit of the items |
/// | loss/validation, validation/NAME | of evaluations on all held-out data: the loss, each metric
/// | | loss/validation_part, validation_part/NAME | of evaluations on a part of the held-out data |
/// | loss/skipped, gradient_norm/skipped | of skipped steps |
///
/// and as histograms, in every step that is a multiple of `histograms_every` (0 = never):
///
/// | tag | value |
/// | --- | --- |
/// | parameters/NAME | each trainable parameter after the step |
/// | gradients/NAME | its gradient before clipping, if Trainer::Options::gradients_every is set |
///
/// With several ranks, only rank 0 needs a TensorBoardLog. The writer must outlive it, and may also
/// be used for other events. Evaluations and checkpoints flush the writer.
class TensorBoardLog : public TrainObserver {
 public:
  explicit TensorBoardLog(EventWriter& events) : events_(events) {}
  /// `session` is the session of the Trainer.
  TensorBoardLog(EventWriter& events, Session& session, std::int64_t histograms_every)
      : events_(events), session_(&session), every_(histograms_every) {}

  void on_step(const StepReport& report) override;
  void on_skip(const SkipReport& report) override;
  void on_evaluation(std::int64_t step, const Evaluation& found, bool whole) override;
  void on_checkpoint(std::int64_t step) override;
  void on_gradient(std::int64_t step, const std::string& parameter,
                   const Tensor& gradient) override;

 private:
  EventWriter& events_;
  Session* session_ = nullptr;
  std::int64_t every_ = 0;
};

/// Returns the hyper-parameters of a model: its task ("task"), the training settings under their
/// names in TrainSettings::fields(), and the fields of its config with the prefix "model.".
EventWriter::HyperParameters hyper_parameters(const TrainedModel& model);

}  // namespace weft
