// The page is filled here.
