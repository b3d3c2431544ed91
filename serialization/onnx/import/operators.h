// The operators that Weft reads, by domain. Each file of operators/ returns its own.
#pragma once

#include <span>
#include <string_view>

#include "weft/serialization/onnx/import/node_import.h"
#include "weft/serialization/onnx/model_file.h"

namespace weft::onnx {

/// The translator of a node, and the version of its domain.
struct OperatorLookup {
  const Operator* op = nullptr;
  std::int64_t opset = 0;
  std::string unsupported = {};  // the reason why there is no translator, or ""
};
OperatorLookup look_up(const onnx_proto::Node& node, const Opsets& opsets);

// The operators of the default domain.
std::span<const Operator> basic_operators();        // Constant, Identity, Dropout, Shape, Size
std::span<const Operator> arithmetic_operators();   // Add, Clip, Mod, Where, Equal, BitShift, Cast
std::span<const Operator> function_operators();     // Exp, Gelu, Softmax, Hardmax, Selu
std::span<const Operator> reduction_operators();    // ReduceSum, ArgMax, CumSum, TopK
std::span<const Operator> norm_operators();         // LayerNormalization, LRN, BatchNormalization
std::span<const Operator> product_operators();      // MatMul, Gemm, Einsum, Det
std::span<const Operator> loss_operators();         // SoftmaxCrossEntropyLoss
std::span<const Operator> signal_operators();       // DFT, STFT, HannWindow, MelWeightMatrix
std::span<const Operator> shape_operators();        // Reshape, Concat, Expand, Range, Trilu
std::span<const Operator> slice_operators();        // Slice, Split, Pad, Col2Im
std::span<const Operator> selection_operators();    // Compress, NonZero, Unique of known values
std::span<const Operator> index_operators();        // Gather, ScatterND, OneHot, TfIdfVectorizer
std::span<const Operator> convolution_operators();  // Conv, ConvTranspose
std::span<const Operator> pooling_operators();      // MaxPool, LpPool, MaxUnpool
std::span<const Operator> resize_operators();       // Resize, Upsample
std::span<const Operator> sampling_operators();     // GridSample, AffineGrid, DeformConv
std::span<const Operator> region_operators();       // RoiAlign, MaxRoiPool
std::span<const Operator> recurrent_operators();    // LSTM, GRU, RNN
std::span<const Operator> attention_operators();    // Attention, RotaryEmbedding (opset 23)
std::span<const Operator> quantized_operators();    // QuantizeLinear, MatMulInteger, QLinearConv
std::span<const Operator> control_operators();      // If, Loop, Scan
std::span<const Operator> sequence_operators();     // SequenceConstruct, SplitToSequence, Optional
std::span<const Operator> gradient_operators();     // ai.onnx.preview.training Gradient
// Operators that ONNX Runtime adds to the default domain.
std::span<const Operator> runtime_norm_operators();  // SimplifiedLayerNormalization
// The operators of com.microsoft.
std::span<const Operator> microsoft_attention_operators();    // MultiHeadAttention, RotaryEmbedding
std::span<const Operator> microsoft_convolution_operators();  // FusedConv
std::span<const Operator> microsoft_norm_operators();         // SkipLayerNormalization, FastGelu
std::span<const Operator> microsoft_quantized_operators();    // MatMulNBits, QLinearAdd

}  // namespace weft::onnx
