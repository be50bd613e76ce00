# Bounds from R, by reticulate: a data frame in, a data frame out.
#
#     RETICULATE_PYTHON=.venv/bin/python Rscript examples/from_r.R
#
# The Python must have ivicl and pandas (pip install ivicl pandas). Prints what docs/from-r.md shows.
library(reticulate)
ivicl <- import("ivicl")

# The trial of vitamin A: table 1 of Balke and Pearl (1997), as in the vignette of bpbounds.
vitamin_a <- data.frame(
  z = c(0, 0, 1, 1, 1, 1, 0, 0),
  x = c(0, 0, 0, 0, 1, 1, 1, 1),
  y = c(0, 1, 0, 1, 0, 1, 0, 1),
  freq = c(74, 11514, 34, 2385, 12, 9663, 0, 0)
)

# Python's answer as a data frame: a result is one row, many studies are a frame. What does not apply is NA. (Reticulate
# before 1.42 leaves the frames of pandas 3 as they are; newer ones have converted them already.)
as_data_frame <- function(answer) {
  if (is.data.frame(answer)) return(answer)
  columns <- if (py_has_attr(answer, "row")) answer$row() else answer$to_dict("list")
  na <- function(value) if (is.null(value)) NA else value
  as.data.frame(lapply(columns, function(column) unlist(lapply(if (is.null(column)) NA else column, na))))
}

# An estimand as bpbounds prints it: the two ends of the set, without allowance for sampling error.
ends <- function(result, name) {
  found <- result$estimands[[name]]
  data.frame(lower = found$estimate_lower, upper = found$estimate_upper)
}

fit <- function(method, data = vitamin_a) {
  ivicl$IVBounds(method)$fit(data, outcome = "y", treatment = "x", instrument = "z", weights = "freq")
}

classical <- fit("balke-pearl")
table <- do.call(rbind, lapply(c("ATE", "EY0", "EY1", "RR"), ends, result = classical))
print(data.frame(parameter = c("ACE", "P(Y|do(X=0))", "P(Y|do(X=1))", "CRR"), table), row.names = FALSE)

# The same with an allowance for sampling error: the network's interval.
network <- as_data_frame(fit("ivicl"))
print(network[, c("lower", "upper", "not_identified", "not_enough_data", "grade")], row.names = FALSE, digits = 4)

# Many studies: a column tells them apart. The answer is a data frame with one row a study.
studies <- rbind(cbind(site = "north", vitamin_a), cbind(site = "south", vitamin_a))
studies$freq[studies$site == "south"] <- ceiling(studies$freq[studies$site == "south"] / 10)
many <- as_data_frame(ivicl$IVBounds()$fit_many(
  studies, by = "site", outcome = "y", treatment = "x", instrument = "z", weights = "freq"
))
print(many[, c("site", "n", "lower", "upper", "grade")], row.names = FALSE, digits = 4)
