"""`make demo`: the whole product on a local AWS, watched from the first job published to the last one accounted for."""
