"""quiltwork: private releases from correlated data.

What may an adversary believe?   MarkovChain, ChainSet, IntervalChain, MixingClass, HiddenChain, OrderChain,
                                 CycleChain, DynamicNetwork, GaussianBelief, Belief
                                 BayesianNetwork, NetworkSet, JointTable, AnyMixture, load_belief, save_belief
What is secret?                  Secrets
What does public data say?       fit_belief, fit_chain, Fit, fit_gaussian, GaussianFit
What if the belief is wrong?     compare, Comparison
What is asked?                   Count, Share, Histogram, Frequencies, Sum, Mean, Transitions, Stays, StayLength,
                                 StayLengths, Quantile, Top, ShareDifference, Custom, Query, parse_query
                                 for records also Over, Tally, Matching; several questions in one release: Workload
                                 for real values also Trend, ShareAbove, Difference, WeightedSum, Lipschitz
Does a belief fit the data?      check_belief, BeliefCheck, GaussianCheck
What is the data?                Series, read_series, Records, read_records, Measurements, read_measurements
How much noise, and why?         calibrate, plan, Calibration, Plan, Certificate
What about ordinary DP?          entry_guarantee, entry_epsilon, EntryGuarantee
What is the total privacy loss?  Accountant, Composed, ReleaseRecord
Is it true?                      audit, Audit, Noisy
What if somebody knows values?   bayesian_leakage, Leakage
What may be published?           release, Release
What keeps a budget?             Session, Ledger
What went wrong?                 QuiltworkError, InputError, BudgetError, NotCoveredError
"""

from quiltwork.later import loaded_later

__version__ = "0.1.0"
__getattr__, __dir__, _names = loaded_later(__name__, __file__)
__all__ = sorted([*_names, "__version__"])
