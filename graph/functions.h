// Everything that can be done with Values, in one include.
#pragma once

#include "weft/graph/functions/arg.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/attention.h"
#include "weft/graph/functions/conv.h"
#include "weft/graph/functions/distributions.h"
#include "weft/graph/functions/factorise.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg.h"
#include "weft/graph/functions/loss.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/random.h"
#include "weft/graph/functions/recurrence.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
