// weft/weft.h is the only header needed by a program that trains, saves and loads.
#include "weft/weft.h"

using namespace weft;

int main() {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 3});
  const Variable weight = g.variable("weight", DType::f32, {3, 1}, {.trainable = true});
  const Value loss = mean(square(matmul(x, weight) - 1.0));
  Program train("train");
  train.output("loss", loss).update(adamw(loss, g.parameters(), {.lr = 0.1}));
  if (count_parameters(g) != 3 || count_parameters(Scope(g, "weight")) != 3) return 1;
  Session session(g, {.seed = 1});
  const Tensor points = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const float before = session.run(train, {{"x", points}})["loss"].item<float>();
  for (int i = 0; i < 50; ++i) session.run(train, {{"x", points}});
  save_checkpoint("umbrella.weft", session, {train});
  const Checkpoint file = load_checkpoint("umbrella.weft");
  Session loaded(file.graph(), file.store());
  const float after = loaded.run(file.program("train"), {{"x", points}})["loss"].item<float>();
  return after < before ? 0 : 1;
}
