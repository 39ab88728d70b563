"""The paper's remarks that are no claims in terms; `derivations/checks.py` says what each is checked on."""

from fedbounds.theory.reading import Remark

FRAMEWORK, THEOREM = "Framework of analysis", "Main theorem and consequences"
ERROR_FREE, GENERAL = "Error-free framework", "General framework"
STRATEGIES, EXPERIMENTS = "Derived aggregation strategies", "Experimental analysis"

# fmt: off
REMARKS = (
    Remark("equation-2", FRAMEWORK, "equation (2): w_{t+1} is aggregated if E | t", "the same rounds as Algorithm 1"),
    Remark("negative-alpha", FRAMEWORK, "sum_j alpha_t^j = 1, and no sign", "Theorem 1 holds for every such alpha"),
    Remark("softmax-rate", THEOREM, "E[F(w_T) - F*] = O(1/T)", "under FedSoftMax, as under all weights"),
    Remark("induction", "Appendix, proof of the corollary", '"The proof proceed by induction"',
           "beta > 1/(mu B) and gamma > 0 suffice"),
    Remark("seen-noise", "Appendix, proof of the theorem",
           '"for the unbiasedness of the gradient estimator", E(A_2) = 0',
           "for weights that may depend on the step's own gradients too, as nothing excludes"),
    Remark("error-free-iid", THEOREM, 'Gamma = 0 "corresponds to an IID-dataset"',
           "Gamma = 0 only if all F_i are equal"),
    Remark("rho-tilde", THEOREM, 'where rho(t, w) is not defined: "This condition will be always assumed below."',
           "rho_tilde has a value at Gamma = 0",
           "rho(t, w*) is 0/0 there, as for F_1 = w^2/2 and F_2 = w^2; by convention, here, "
           "Gamma rho_tilde = max_t sum_i alpha_i e_i(w*) = 0"),
    Remark("fedmax-gap", ERROR_FREE, '"a truly optimal algorithm given by the maximization of" rho_bar',
           "no weights end at a smaller gap"),
    Remark("fedmax-skew", ERROR_FREE, 'the maximum of rho_bar is "achieved when" alpha is FedMax\'s',
           "no weights have a larger rho_bar along their run"),
    Remark("without-loss", GENERAL, '"Without loss of generality" pi_t > 0',
           "a smaller infinitesimal weight in place of 0 does not make the bound larger"),
    Remark("pi-alone", GENERAL, '"the new speed and error bounds depend exclusively on" pi',
           "equal L, mu, Gamma and pi give equal bounds"),
    Remark("fedmax-tie", STRATEGIES, '"two distinct clients in practice never have the same value"',
           "not along a run that starts without a tie"),
    Remark("fedmax-speed", STRATEGIES, '"this strategy gives an optimal bound on the convergence speed"',
           "at Gamma = 0 no weights have a smaller bound"),
    Remark("fedmax-k-poc", STRATEGIES, 'FedMax(k) "boils down to the client selection strategy" Power-of-Choice',
           "with all N clients as candidates"),
    Remark("softmax-bound", STRATEGIES, '"we can obtain an upper bound over the error by applying" the final bound',
           "a bound known before the run, from the problem and the temperature"),
    Remark("tight", EXPERIMENTS, '"the upper bound provided by the main theorem is quite tight"',
           "the corollary's bound is within a factor of 100"),
    Remark("softmax-bias", EXPERIMENTS,
           'a bias "directly proportional to the distance that the data distribution among the clients has" '
           'from the IID one',
           "the bias |w_inf - w*|, in proportion to Gamma or to the distance of the minimisers"),
    Remark("temperature", EXPERIMENTS, '"an higher temperature entails" a higher convergence speed',
           "of T as written, or as 1/T in the figure"),
    Remark("alpha-limit", EXPERIMENTS, 'the alpha_i "almost always converges to the" p_i', "under FedSoftMax"),
    Remark("softmax-limits", EXPERIMENTS,
           'FedSoftMax is a "natural smooth interpolation between" FedAvg and FedMax(k)',
           "FedSoftMax comes near FedMax(k) at some temperature, for k = 2"),
)
# fmt: on
