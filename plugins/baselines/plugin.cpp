#include "plugins/baselines/drift.h"
#include "plugins/baselines/ewma.h"
#include "plugins/baselines/last_value.h"
#include "plugins/baselines/mean.h"
#include "plugins/baselines/ridge.h"
#include "plugins/baselines/seasonal_naive.h"

TUTTI_DEFINE_PLUGIN("tutti.baselines", "0.1.0", tutti::baselines::LastValue, tutti::baselines::SeasonalNaive,
                    tutti::baselines::Drift, tutti::baselines::Mean, tutti::baselines::Ewma, tutti::baselines::Ridge);
