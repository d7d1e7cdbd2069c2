"""The paper's seven classifiers with their settings (MELE, section 3.4.2)."""

from __future__ import annotations

import warnings
from typing import Any, Protocol, cast

import numpy as np

from coterie_core.answers import BoolArray, FloatArray

MODELS: tuple[str, ...] = (
    "neural_network",
    "random_forest",
    "decision_tree",
    "xgboost",
    "svm_rbf",
    "svm_linear",
    "logistic_regression",
)
"""Names in the order of the paper's Table 1."""


class Classifier(Protocol):
    """What the libraries' classifiers have in common here."""

    classes_: Any

    def fit(self, X: FloatArray, y: Any) -> Any:
        """Train on inputs (N, F) and classes (N,)."""

    def predict(self, X: FloatArray) -> Any:
        """Return the class of each row."""


def make_classifier(name: str, seed: int, *, trees: int = 1000, n_jobs: int = 1) -> Classifier:
    """Return an untrained classifier.

    `neural_network` is scikit-learn's MLPClassifier in place of PyTorch (too heavy to ship): three
    linear layers of 16, 8 and 1 outputs, ReLU between them, a sigmoid at the end, trained by Adam
    (step 1e-3, batches of up to 200, at most 200 epochs) on the cross-entropy with its default
    weight decay of 1e-4. The paper states the layers and the sigmoid; the rest is the library's
    default. `svm_linear` is SVC with a linear kernel, `xgboost` XGBClassifier; both with their
    libraries' defaults, like all others.

    Args:
        name: One of MODELS.
        seed: Of everything random in the model.
        trees: Of the random forest; the paper has 1000.
        n_jobs: Threads for random forest and XGBoost. Results do not depend on it.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier
    from xgboost import XGBClassifier

    if name == "neural_network":
        model: Any = MLPClassifier(hidden_layer_sizes=(16, 8), random_state=seed)
    elif name == "random_forest":
        model = RandomForestClassifier(n_estimators=trees, random_state=seed, n_jobs=n_jobs)
    elif name == "decision_tree":
        model = DecisionTreeClassifier(random_state=seed)
    elif name == "xgboost":
        model = XGBClassifier(random_state=seed, n_jobs=n_jobs)
    elif name == "svm_rbf":
        model = SVC(kernel="rbf", random_state=seed)
    elif name == "svm_linear":
        model = SVC(kernel="linear", random_state=seed)
    elif name == "logistic_regression":
        model = LogisticRegression(random_state=seed)
    else:
        raise ValueError(f"no CAM model named {name!r}; models: {', '.join(MODELS)}")
    return cast(Classifier, model)


def fit_classifier(model: Classifier, inputs: FloatArray, truth: BoolArray) -> None:
    """Train; warnings about the default number of iterations are expected and not shown.

    On unscaled codes the paper's networks and regressions often stop before they converge.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(inputs, truth.astype(int))


def positive_score(model: Classifier, inputs: FloatArray) -> FloatArray:
    """Return a score of YES in 0..1 (N,): above 0.5 exactly where the model predicts YES.

    The SVMs have no probability: theirs is the sigmoid of the signed distance to the margin.
    """
    any_model = cast(Any, model)
    if hasattr(any_model, "predict_proba"):
        return np.asarray(any_model.predict_proba(inputs), dtype=float)[:, 1]
    distance = np.asarray(any_model.decision_function(inputs), dtype=float)
    return 0.5 * (1.0 + np.tanh(0.5 * distance))
