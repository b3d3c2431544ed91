// All layers for building models in one include (docs/layers.md lists them). Most training programs
// need only this header and weft/weft.h.
#pragma once

#include "weft/models/layers/attention/attention.h"
#include "weft/models/layers/attention/multi_head_attention.h"
#include "weft/models/layers/attention/positions.h"
#include "weft/models/layers/channel_norm.h"
#include "weft/models/layers/conv.h"
#include "weft/models/layers/crf.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/embedding_bag.h"
#include "weft/models/layers/experts/mixture_of_experts.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/norm.h"
#include "weft/models/layers/recurrent.h"
